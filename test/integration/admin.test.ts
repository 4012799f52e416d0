/** The admin API and the metrics listener: who may use them, and what they return. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { after, beforeEach, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { failing, startFront, startUpstream, textOf, whole } from '../helpers/fake-upstream.ts'

const [one, two] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  gateway: { listen_address: '0.0.0.0' },
  upstreams: [
    { name: 'one', endpoint: one.url, headers: { 'x-team': 'hidden-header' } },
    { name: 'two', endpoint: two.url, context_window: 50 },
  ],
  routes: [
    { name: 'chat', strategy: 'primary_with_fallback', primary: 'one', fallback: ['two'] },
    { name: 'other', strategy: 'single', primary: 'two' },
  ],
  aliases: { 'gpt-4o': 'chat' },
})
after(() => Promise.all([front.process.stop(), one.close(), two.close()]))
const { adminUrl, adminHeaders, metricsUrl, url } = front.process

beforeEach(() => {
  one.reply = whole()
  two.reply = whole()
})

async function get(address: string, headers: Readonly<Record<string, string>> = adminHeaders) {
  const outgoing = request(address, { agent: false, headers })
  outgoing.end()
  const [incoming] = await once(outgoing, 'response')
  const pieces = await Array.fromAsync<string>(incoming.setEncoding('utf8'))
  return { status: incoming.statusCode, text: pieces.join('') }
}

async function put(body: string, type?: string) {
  const headers = { ...adminHeaders, ...(type !== undefined && { 'content-type': type }) }
  const answer = await fetch(`${adminUrl}/config`, { method: 'PUT', body, headers })
  // The body stays unparsed by type; the assertions look at it.
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

test('an unreadable body gets the usual error object, and a name may have the maximum length', async () => {
  for (const path of ['/limits/%zz', `/limits/${'x'.repeat(2000)}`]) {
    const { status, text } = await get(adminUrl + path)
    assert.equal(status, 400, path)
    assert.deepEqual(Object.keys(JSON.parse(text).error), ['message'])
  }
  const tenant = 'x'.repeat(253)
  const { status, text } = await get(`${adminUrl}/limits/${tenant}`)
  assert.equal(status, 404)
  assert.match(JSON.parse(text).error.message, /^no such tenant "x{100}": no key/)
})

test('each listener answers only its own paths', async () => {
  assert.equal((await get(`${metricsUrl}/metrics`)).status, 200)
  for (const path of ['/status', '/config', '/traces', '/explain', '/metrics']) {
    assert.equal(
      (await get(url + path, { authorization: `Bearer ${front.key}` })).status,
      404,
      path,
    )
  }
  for (const path of ['/status', '/v1/models', '/']) {
    assert.equal((await get(metricsUrl + path)).status, 404)
  }
  for (const path of ['/metrics', '/v1/models', '/healthz']) {
    assert.equal((await get(adminUrl + path)).status, 404)
  }
})

test('the admin API listens on loopback only, even if clients connect from other hosts', async (t) => {
  const others = Object.values(networkInterfaces()).flat()
  const address = others.find((each) => each?.family === 'IPv4' && !each.internal)?.address
  // 127.0.0.2 is also loopback, but the admin API is not bound to it.
  const foreign = address ?? '127.0.0.2'
  t.diagnostic(`asked at ${foreign}`)
  const at = (origin: string) => origin.replace('127.0.0.1', foreign)
  assert.equal((await get(`${at(url)}/healthz`)).status, 200)
  assert.equal((await get(`${at(metricsUrl)}/metrics`)).status, 200)
  await assert.rejects(get(`${at(adminUrl)}/status`), { code: 'ECONNREFUSED' })
})

for (const [host, status] of [
  ['localhost', 200],
  ['localhost:1234', 200],
  ['127.0.0.1', 200],
  ['[::1]:9091', 200],
  ['evil.example', 403],
  ['evil.example:9091', 403],
  ['localhost.evil.example', 403],
  ['127.0.0.1.evil.example', 403],
  ['10.0.0.1', 403],
] as const) {
  test(`the admin API answers ${status} to Host "${host}"`, async () => {
    const answer = await get(`${adminUrl}/status`, { host })
    assert.equal(answer.status, status)
    if (status === 403) assert.match(JSON.parse(answer.text).error.message, /loopback/)
  })
}

test('/status returns the enforced configuration and the state of each upstream', async () => {
  const status = await front.admin('/status')
  assert.partialDeepStrictEqual(status, {
    state: 'serving',
    config: {
      file: front.process.configFile,
      routes: 2,
      keys: 1,
      last_reload: { result: 'success', errors: [] },
    },
    requests_in_flight: 0,
    streams_open: 0,
    upstreams: [
      {
        name: 'one',
        provider: 'openai',
        endpoint: `${one.url}/v1`,
        eligible: true,
        health: 'not probed',
        breaker: 'closed',
        in_flight: 0,
      },
      { name: 'two' },
    ],
  })
  assert.match(status.config.hash, /^[0-9a-f]{64}$/)
  assert.match(status.version, /^\d+\.\d+\.\d+/)
})

test('/config returns the document with its defaults and without its secrets', async () => {
  const text = await textOf(`${adminUrl}/config`, adminHeaders)
  assert.doesNotMatch(text, /upstream-credential|hidden-header/)
  const { apiVersion, kind, gw } = JSON.parse(text)
  assert.deepEqual([apiVersion, kind], ['inference.gw/v1', 'GatewayConfig'])
  assert.equal(gw.upstreams[0].api_key, '${env:UPSTREAM_KEY}')
  // Written out, it would hold for answers that are no streams too.
  assert.equal(gw.upstreams[0].timeout_seconds, undefined)
  assert.equal(gw.gateway.request_timeout_seconds, 600)
  assert.equal(gw.gateway.max_request_bytes, 8_388_608)
  assert.ok(!text.includes(front.key))
})

test('the output of /config can be sent back', async () => {
  const { gw, ...rest } = await front.admin('/config')
  // Literal headers are masked, so only they are lost.
  const upstreams = gw.upstreams.map(
    ({ headers, ...upstream }: Record<string, unknown>) => upstream,
  )
  const { status, body } = await put(JSON.stringify({ ...rest, gw: { ...gw, upstreams } }))
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.result, 'success')
  assert.equal((await front.chat()).status, 200)
})

test('PUT /config accepts JSON and YAML with any content type', async () => {
  const document = await front.admin('/config')
  for (const upstream of document.gw.upstreams) delete upstream.headers
  for (const type of [undefined, 'application/json', 'application/yaml', 'text/plain']) {
    for (const body of [JSON.stringify(document), stringify(parse(JSON.stringify(document)))]) {
      assert.equal((await put(body, type)).status, 200)
    }
  }
})

test('PUT /config answers 422 with every problem, and changes nothing', async () => {
  const before = await front.admin('/status')
  const document = await front.admin('/config')
  document.gw.routes[0].primary = 'ghost'
  document.gw.routes[1].strategy = 'sinlge'
  for (const [body, problems] of [
    [JSON.stringify(document, null, 1), [/ghost/, /sinlge.*single/s]],
    ['gw: [', [/./]],
    ['', [/./]],
  ] as const) {
    const answer = await put(body)
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, /refused/)
    assert.ok(Array.isArray(answer.body.error.problems))
    for (const problem of problems) assert.match(answer.body.error.problems.join('\n'), problem)
  }
  const status = await front.admin('/status')
  assert.equal(status.config.hash, before.config.hash)
  assert.equal(status.config.last_reload.result, 'failure')
  assert.equal((await front.chat()).status, 200)
})

test('/traces lists the requested number of decisions, newest first', async () => {
  const ids = []
  for (const _ of [1, 2, 3]) ids.unshift((await front.chat()).headers['x-request-id'])
  const idsOf = async (query: string) =>
    (await front.admin(`/traces${query}`)).traces.map(
      (trace: { request_id: string }) => trace.request_id,
    )
  assert.deepEqual((await idsOf('')).slice(0, 3), ids)
  assert.deepEqual(await idsOf('?limit=2'), ids.slice(0, 2))
  for (const odd of ['0', '-1', 'x', '1.5', '1e99', '']) {
    assert.ok((await idsOf(`?limit=${odd}`)).length >= 3, odd)
  }
})

test('a trace shows each attempt and why other upstreams were skipped', async () => {
  one.reply = failing(500)
  const heard = await front.chat()
  assert.equal(heard.headers['x-gw-upstream'], 'two')
  const trace = await front.trace(heard)
  assert.partialDeepStrictEqual(trace, {
    method: 'POST',
    path: '/v1/chat/completions',
    tenant: 'acme',
    key: 'client',
    model: 'chat',
    route: 'chat',
    strategy: 'primary_with_fallback',
    upstream: 'two',
    stream: false,
    status: 200,
    attempts: [
      { upstream: 'one', outcome: 'server', status: 500, reason: 'Said 500.' },
      { upstream: 'two', outcome: 'ok' },
    ],
    prompt_tokens: 7,
    completion_tokens: 3,
  })
  for (const { started_ms, ended_ms } of trace.attempts)
    assert.ok(0 <= started_ms && started_ms < ended_ms)
  assert.ok(trace.attempts[0].ended_ms <= trace.attempts[1].started_ms)
  assert.ok(trace.attempts[1].ended_ms <= trace.duration_ms)
  const long = await front.chat({ messages: [{ role: 'user', content: 'x'.repeat(1000) }] })
  assert.deepEqual((await front.trace(long)).passed_over, [
    { upstream: 'two', why: 'context window too small' },
  ])
})

test('a trace shows the operator why a request was refused; the client does not see the reason', async () => {
  const heard = await front.ask({}, { authorization: 'Bearer gw_test_unknown' }).over
  assert.doesNotMatch(heard.text, /unknown/)
  assert.partialDeepStrictEqual(await front.trace(heard), {
    route: 'none',
    upstream: 'none',
    status: 401,
    code: 'ERR_GW_AUTH_INVALID_KEY',
    message: 'unknown key',
    attempts: [],
  })
})

test('an unknown trace is a 404 that names it', async () => {
  const { status, text } = await get(`${adminUrl}/traces/none-1`)
  assert.equal(status, 404)
  assert.match(JSON.parse(text).error.message, /"none-1".*last 2000/)
})

test('/explain returns the explanation as text, for all routes or one name', async () => {
  const { text } = await front.admin('/explain')
  assert.match(text, /chat/)
  assert.match(text, /other/)
  assert.doesNotMatch(text, /upstream-credential/)
  const alias = await front.admin('/explain?model=gpt-4o')
  assert.partialDeepStrictEqual(alias, { model: 'gpt-4o', route: 'chat' })
  assert.match(alias.text, /one/)
  const single = await front.admin('/explain?model=other')
  assert.ok(single.text.length < text.length)
  const unknown = await get(`${adminUrl}/explain?model=nothing`)
  assert.equal(unknown.status, 404)
  assert.match(JSON.parse(unknown.text).error.message, /"nothing"/)
})

test('an unknown path returns an error object', async () => {
  for (const path of ['/nothing', '/traces/a/b']) {
    const { status, text } = await get(adminUrl + path)
    assert.equal(status, 404)
    assert.equal(typeof JSON.parse(text).error.message, 'string')
  }
})

test('a reload can change the number of kept traces', async () => {
  const { gw, ...rest } = await front.admin('/config')
  for (const upstream of gw.upstreams) delete upstream.headers
  const sized = (trace_ring: number) =>
    put(JSON.stringify({ ...rest, gw: { ...gw, telemetry: { trace_ring } } }))
  for (const _ of Array(6)) await front.chat()
  assert.equal((await sized(4)).status, 200)
  const { traces } = await front.admin('/traces')
  const kept = traces.filter(({ status }: { status: number }) => status === 200)
  assert.equal(kept.length, 4)
  assert.match((await get(`${adminUrl}/traces/none-1`)).text, /last 4 /)
  assert.equal((await sized(0)).status, 200)
  assert.deepEqual((await front.admin('/traces')).traces, [])
  assert.equal((await sized(2000)).status, 200)
})
