/** The commands that ask a running gateway: keys, traces, tests of upstreams, routes, keys and limits. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { parse } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { failing, refusingUrl, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

const [one, two] = await Promise.all([startUpstream(), startUpstream()])
const nowhere = await refusingUrl()
const narrow = aKey({ id: 'narrow', routes: ['other'], prefix: 'gw_test_narrow_abcd' })
const revoked = aKey({ id: 'old', revoked_at: '2026-01-01T00:00:00Z', reason: 'leaked' })
const client = aKey({ id: 'client' })
const quiet = aKey({ id: 'quiet', tenant: 'quiet', routes: ['other'] })
const front = await startFront({
  api_keys: [client.record, narrow.record, revoked.record, quiet.record],
  upstreams: [
    { name: 'one', endpoint: one.url },
    { name: 'two', endpoint: two.url },
    { name: 'dead', endpoint: nowhere },
  ],
  routes: [
    { name: 'chat', strategy: 'primary_with_fallback', primary: 'one', fallback: ['two'] },
    { name: 'other', strategy: 'single', primary: 'two' },
    { name: 'broken', strategy: 'single', primary: 'dead' },
  ],
  aliases: { 'gpt-4o': 'chat' },
  rate_limits: {
    default: { requests_per_minute: 60, burst: 2, concurrent_requests: 10 },
  },
})
after(() => Promise.all([front.process.stop(), one.close(), two.close()]))
const { adminUrl, url } = front.process
const ask = (...args: readonly string[]) => gw(...args, '--admin', adminUrl)

beforeEach(() => {
  one.reply = whole()
  two.reply = whole()
})

async function chat(model: string) {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.text()
  return { status: answer.status, id: answer.headers.get('x-request-id') ?? '' }
}

test('config show without a file shows what the gateway enforces', async () => {
  const { code, stdout } = await ask('config', 'show', '--resolved')
  assert.equal(code, 0)
  assert.partialDeepStrictEqual(parse(stdout), {
    kind: 'GatewayConfig',
    gw: { gateway: { max_request_bytes: 8_388_608 }, aliases: { 'gpt-4o': 'chat' } },
  })
  const json = await ask('config', 'show', '--resolved', '-o', 'json')
  assert.deepEqual(JSON.parse(json.stdout), parse(stdout))
  const away = await gw('config', 'show', '--resolved', '--admin', nowhere)
  assert.equal(away.code, 2)
})

test('trace get shows a tree of what was decided, and each attempt, and no text steers the terminal', async () => {
  one.reply = failing(500, { message: '\u001b[2Jgone\u202e' })
  const { id } = await chat('gpt-4o')
  const { code, stdout } = await ask('trace', 'get', id, '--format', 'tree')
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`^${id} {2}POST /v1/chat/completions {2}200 {2}[\\d.]+ m?s\n├─ `))
  assert.match(stdout, /caller: key client of tenant acme/)
  assert.match(
    stdout,
    /├─ model "gpt-4o" -> route chat \(primary_with_fallback\)\n│ {2}├─ attempt 1 at one: server 500/,
  )
  assert.match(stdout, / {2}\[2Jgone \n/)
  assert.match(stdout, /│ {2}└─ attempt 2 at two: ok/)
  assert.match(stdout, /└─ answer: id chatcmpl-1, model served, finish reason stop\n/)
  assert.match(stdout, /└─ answered by two\n {3}└─ 7 prompt and 3 completion tokens\n$/)
  const json = JSON.parse((await ask('trace', 'get', id, '--format', 'json')).stdout)
  assert.equal(json.request_id, id)
})

test('trace get shows the ids of the client, the trace and the upstream', async () => {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${client.key}`,
      'content-type': 'application/json',
      'x-request-id': 'order-17',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    },
    body: '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}',
  })
  await answer.text()
  const { stdout } = await ask('trace', 'get', String(answer.headers.get('x-request-id')))
  assert.match(stdout, /├─ request id of the client: order-17\n/)
  assert.match(stdout, /├─ trace id: 4bf92f3577b34da6a3ce929d0e0e4736\n/)
})

test('trace get shows a refused request as refused, not as answered', async () => {
  const { id } = await chat('nothing')
  const { code, stdout } = await ask('trace', 'get', id)
  assert.equal(code, 0)
  assert.match(stdout, /\n└─ refused 404 ERR_GW_ROUTE_NOT_FOUND: There is no route "nothing"/)
  assert.doesNotMatch(stdout, /answered/)
})

test('trace list shows the last decisions, and an unknown request is 1', async () => {
  const { stdout } = await ask('trace', 'list', '--limit', '1', '-o', 'json')
  const { traces } = JSON.parse(stdout)
  assert.equal(traces.length, 1)
  const unknown = await ask('trace', 'get', 'none-1')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /No running gateway has a trace of request "none-1"/)
})

test('upstream test calls upstreams as the gateway does, and shows why one fails', async () => {
  two.reply = failing(401, { message: 'bad credential upstream-credential' })
  const { code, stdout } = await ask('upstream', 'test', '--all', '--verbose')
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^one \(openai, model served\): ok\n {2}completion: ok 200 in \d+ ms, 3 tokens\n {4}POST http/m,
  )
  assert.match(
    stdout,
    /^two .*: failed\n {2}completion: failed 401 .*\n.*\n {4}completion: credential: /m,
  )
  assert.match(
    stdout,
    /^dead .*: failed\n {2}completion: failed in .*\n.*\n {4}completion: connect: ECONNREFUSED/m,
  )
  assert.doesNotMatch(stdout, /upstream-credential/)
  assert.equal((await ask('upstream', 'test', '--name', 'one')).code, 0)
  const unknown = await ask('upstream', 'test', '--name', 'ghost')
  assert.deepEqual([unknown.code, unknown.stderr], [1, 'error: There is no upstream "ghost".\n'])
})

test('tests of upstreams count for no tenant and in no metric', async () => {
  const before = await front.value('gw_requests_total{route="other",upstream="two",status="200"}')
  const asked = two.asked.length
  assert.equal((await ask('gateway', 'test', '--route', 'other')).code, 0)
  assert.equal(two.asked.length, asked + 1)
  assert.equal(two.asked.at(-1)?.body.model, 'served')
  const after = await front.value('gw_requests_total{route="other",upstream="two",status="200"}')
  assert.equal(after, before)
})

test('gateway test follows every route, also when the first upstream fails', async () => {
  const all = await ask('gateway', 'test', '--all-routes')
  assert.equal(all.code, 1)
  assert.match(all.stdout, /^chat: ok, one answers$/m)
  assert.match(all.stdout, /^broken: failed, 502 ERR_GW_UPSTREAM_ERROR/m)
  const spilled = await ask('gateway', 'test', '--route', 'gpt-4o', '--simulate-failure', 'primary')
  assert.equal(spilled.code, 0)
  assert.match(
    spilled.stdout,
    /^chat: ok, two answers\n {2}attempt 1 at one: server \(simulated\), 0 ms\n {2}attempt 2 at two: ok/,
  )
  const limited = await ask(
    'gateway',
    'test',
    '--route',
    'other',
    '--simulate-rate-limit',
    '-o',
    'json',
  )
  assert.equal(limited.code, 1)
  const [outcome] = JSON.parse(limited.stdout).routes
  assert.deepEqual([outcome.status, outcome.code], [429, 'ERR_GW_UPSTREAM_RATE_LIMIT'])
  const { upstreams } = await front.admin('/status')
  for (const { breaker } of upstreams) assert.equal(breaker, 'closed')
})

const expectations = [
  [client.key, 'chat', '200', 0],
  [narrow.key, 'chat', '403', 0],
  [narrow.key, 'chat', '200', 1],
  [revoked.key, 'chat', '401', 0],
  ['gw_test_nobody_x', 'chat', '401', 0],
] as const

for (const [index, [key, route, expect, expected]] of expectations.entries()) {
  test(`auth test ${index + 1}: expecting ${expect} ends with ${expected}`, async () => {
    const { code, stdout } = await ask(
      'auth',
      'test',
      '--key',
      key,
      '--route',
      route,
      '--expect',
      expect,
    )
    assert.equal(code, expected, stdout)
    assert.ok(!stdout.includes(key))
  })
}

test("auth test checks an issuer's token only with a real request", async () => {
  const token = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'
  const { code, stdout, stderr } = await ask('auth', 'test', '--key', token, '--expect', '401')
  assert.equal(code, 64, stdout)
  assert.match(stderr, /token of an issuer.*--url/)
  assert.ok(!stderr.includes(token))
  assert.equal((await gw('auth', 'test', '--key', token, '--url', url, '--expect', '401')).code, 0)
})

test('auth test with --url sends a real request', async () => {
  const test = (key: string, expect: string) =>
    gw('auth', 'test', '--key', key, '--url', url, '--expect', expect)
  assert.equal((await test(client.key, '200')).code, 0)
  const unknown = await test('gw_test_nobody_x', '401')
  assert.equal(unknown.code, 0)
  assert.match(unknown.stdout, /ERR_GW_AUTH_INVALID_KEY/)
})

test('keys of a running gateway are listed, inspected and tested, and changed in their file', async () => {
  const { stdout } = await ask('keys', 'list', '-o', 'json')
  const ids = JSON.parse(stdout).keys.map(({ id }: { id: string }) => id)
  assert.deepEqual(ids, ['client', 'narrow', 'old', 'quiet'])
  assert.doesNotMatch(stdout, /sha256/)
  const inspected = await ask('keys', 'inspect', '--prefix', 'gw_test_narrow', '-o', 'json')
  assert.equal(JSON.parse(inspected.stdout).status, 'ACTIVE')
  assert.equal((await ask('keys', 'test', '--id', 'narrow', '--route', 'other')).code, 0)
  assert.equal((await ask('keys', 'test', '--id', 'narrow', '--route', 'gpt-4o')).code, 1)
  const revocation = await ask('keys', 'revoke', '--id', 'narrow')
  assert.equal(revocation.code, 2)
  assert.match(revocation.stderr, /give the file with --file/)
})

test('a limit that nothing ran into has held, and is said not to have been reached', async () => {
  const args = ['--tenant', 'quiet', '--rate', '60', '--duration', '1s', '--route', 'other']
  const { code, stdout } = await ask('limits', 'test', ...args, '--key', quiet.key)
  assert.equal(code, 0)
  assert.match(stdout, /^the limit held, but was not reached: it would admit \d+; raise --rate/m)
})

test('limits test sends requests at a rate, and reports whether the limit held', async () => {
  const args = ['--tenant', 'acme', '--rate', '600', '--duration', '1s', '--route', 'other']
  const { code, stdout, stderr } = await ask(
    'limits',
    'test',
    ...args,
    '--key',
    client.key,
    '-o',
    'json',
  )
  assert.equal(code, 0, stderr)
  const facts = JSON.parse(stdout)
  assert.deepEqual([facts.sent, facts.limit_per_minute, facts.burst, facts.held], [10, 60, 2, true])
  assert.equal(facts.admitted + facts.rate_limited, 10)
  assert.ok(facts.rate_limited > 0)
  const other = await ask('limits', 'test', ...args, '--key', 'gw_test_nobody_x')
  assert.equal(other.code, 2)
  assert.match(other.stderr, /The key was refused: unknown key/)
})

test('limits test at a URL reads the burst from the gateway in --admin, or else prints the assumed burst', async () => {
  const args = ['--tenant', 'quiet', '--rate', '60', '--duration', '1s', '--route', 'other']
  const test = (...more: readonly string[]) =>
    gw('limits', 'test', ...args, '--key', quiet.key, '--url', url, ...more)
  const alone = await test()
  assert.match(alone.stdout, /^burst +15$/m)
  assert.match(alone.stdout, /^assumed: a burst of 15, a quarter of the limit.*give --admin/m)
  const known = await test('--admin', adminUrl)
  assert.match(known.stdout, /^burst +2$/m)
  assert.doesNotMatch(known.stdout, /^assumed/m)
  const json = JSON.parse((await test('--admin', adminUrl, '-o', 'json')).stdout)
  assert.deepEqual([json.burst, json.burst_is], [2, 'told'])
})
