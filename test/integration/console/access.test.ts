/**
 * The console's part of the admin API: access to its page, stream and data, and the end of the
 * stream.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { VIEWERS_MAX } from '../../../dataplane/console/feed.ts'
import { type Front, startFront } from '../../helpers/fake-upstream.ts'

let front: Front

before(async () => {
  front = await startFront({
    upstreams: [{ name: 'up', endpoint: 'http://127.0.0.1:1' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    budgets: [{ tenant: 'beta', tokens_per_day: 5 }],
  })
})
after(() => front?.process.stop())

type Headers = Readonly<Record<string, string>>

async function ask(path: string, headers: Headers = {}): Promise<IncomingMessage> {
  // Sent as written, because a URL would resolve its dots.
  const { hostname, port } = new URL(front.process.adminUrl)
  const outgoing = request({ hostname, port, path, agent: false, headers })
  outgoing.end()
  const [incoming] = await once(outgoing, 'response')
  return incoming
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync<Buffer>(incoming))
}

test('the page contains no data and needs no token; its stream and its data need one', async () => {
  const { adminHeaders } = front.process
  for (const [path, headers, status] of [
    ['/console', {}, 302],
    ['/console/', {}, 200],
    ['/console/main.js', {}, 200],
    ['/console/views/usage.js', {}, 200],
    ['/console/../status', {}, 404],
    ['/console/%2e%2e/feed.ts', {}, 404],
    ['/console/nothing.js', {}, 404],
    ['/console/events', {}, 401],
    ['/changes', {}, 401],
    ['/limits', {}, 401],
    ['/changes', adminHeaders, 200],
    ['/limits', adminHeaders, 200],
  ] as const) {
    const answer = await ask(path, headers)
    assert.equal(answer.statusCode, status, path)
    answer.resume()
  }
})

for (const [what, headers] of [
  ['names another host', { host: 'rebound.example' }],
  ['is a page of another site', { 'sec-fetch-site': 'cross-site' }],
  ['is a page of another port', { 'sec-fetch-site': 'same-site' }],
] as const) {
  test(`a caller that ${what} gets no page, stream or data`, async () => {
    for (const path of ['/console/', '/console/main.js', '/console/events', '/status', '/traces']) {
      const answer = await ask(path, { ...front.process.adminHeaders, ...headers })
      assert.equal(answer.statusCode, 403, path)
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
      answer.resume()
    }
  })
}

test('every answer restricts the browser: no external script, no frame, no other reader', async () => {
  for (const path of ['/console/', '/console/main.js', '/status', '/nothing']) {
    const { headers } = (await ask(path, front.process.adminHeaders)).resume()
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin', path)
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin', path)
    assert.equal(headers['x-content-type-options'], 'nosniff', path)
    assert.equal(headers['referrer-policy'], 'no-referrer', path)
    assert.equal(headers['cache-control'], path.startsWith('/console/') ? 'no-cache' : 'no-store')
  }
})

test('a file is sent compressed, and cached while it is unchanged', async () => {
  const plain = await bodyOf(await ask('/console/style.css'))
  const packed = await ask('/console/style.css', { 'accept-encoding': 'br, gzip' })
  assert.equal(packed.headers['content-encoding'], 'gzip')
  assert.deepEqual(gunzipSync(await bodyOf(packed)), plain)
  const again = await ask('/console/style.css', { 'if-none-match': String(packed.headers.etag) })
  assert.equal(again.statusCode, 304)
  again.resume()
})

test('the stream sends samples of status and counters, and refuses more than twenty viewers', async () => {
  const { adminHeaders } = front.process
  const viewers = await Promise.all(
    Array.from({ length: VIEWERS_MAX }, () => ask('/console/events', adminHeaders)),
  )
  assert.equal(await front.value('gw_console_viewers'), VIEWERS_MAX)
  const refused = await ask('/console/events', adminHeaders)
  assert.equal(refused.statusCode, 503)
  assert.match(String(await bodyOf(refused)), /20 viewers already/)
  const [viewer] = viewers
  assert.equal(viewer?.headers['content-type'], 'text/event-stream')
  let text = ''
  for await (const piece of viewer ?? []) {
    text += String(piece)
    if (/data: .*\n\n/.test(text)) break
  }
  assert.match(text, /^retry: 2000\n\n/)
  const sample = JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '')
  const [{ path, status, activity }] = sample.pods
  assert.deepEqual([path, status.state, activity.routes[0].name], ['', 'serving', 'chat'])
  for (const each of viewers) each.destroy()
})

test('one answer contains all tenants that the configuration names', async () => {
  const { total, tenants } = await front.admin('/limits')
  const names = tenants.map(({ tenant }: { tenant: string }) => tenant)
  assert.deepEqual([total, names.toSorted()], [2, ['acme', 'beta']])
  assert.deepEqual(tenants[names.indexOf('beta')], {
    ...(await front.admin('/limits/beta')),
    requests_per_minute: tenants[names.indexOf('beta')].requests_per_minute,
  })
  assert.equal((await front.admin('/limits?name=bet&limit=1')).total, 1)
})

test('the list of changes contains states and configurations', async () => {
  const { changes } = await front.admin('/changes')
  assert.deepEqual(Object.keys(changes[0]), ['time', 'level', 'event', 'message'])
  assert.equal(changes.at(-1).event, 'start')
})

test('a drain ends the stream without waiting for it', async () => {
  const viewer = await ask('/console/events', front.process.adminHeaders)
  front.process.signal('SIGTERM')
  const text = String(await bodyOf(viewer).catch(() => ''))
  assert.equal((await front.process.exited).code, 0)
  assert.doesNotMatch(text, /failed/)
})
