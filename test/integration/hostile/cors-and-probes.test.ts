/** Browsers and load balancers: which pages may read an answer, and which requests need no key. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { after, test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { startFront } from './front.ts'
import { sendTo } from './send.ts'

const front = await startFront({
  gateway: { cors: { allowed_origins: ['https://app.test'], allow_credentials: true } },
})
const open = await startFront({ gateway: { cors: { allowed_origins: ['*'] } } })
const silent = await startFront()
const limited = await startFront({
  gateway: { cors: { allowed_origins: ['https://app.test'] } },
  sections: {
    aliases: { old: { route: 'chat', deprecated: { since: '2026-01-01', until: '2999-12-31' } } },
    rate_limits: { default: { requests_per_minute: 1, burst: 4, tokens_per_minute: 100_000 } },
    budgets: [{ tenant: 'acme', tokens_per_day: 100_000, spend_per_month_usd: 100 }],
    pricing: [{ model: 'served', input: 1, output: 1 }],
  },
})
after(() => Promise.all([front.stop(), open.stop(), silent.stop(), limited.stop()]))

const BAD_KEY = { authorization: 'Bearer gw_test_nobody_x' }
const BAD_TYPE = { 'content-type': 'text/plain' }

const PROBES: readonly [string, string, string][] = [
  ['GET', '/healthz', '{"status":"ok"}'],
  ['GET', '/readyz', '{"status":"ready"}'],
  ['GET', '/', '{"status":"ready"}'],
  ['HEAD', '/', ''],
  ['GET', '/?from=balancer', '{"status":"ready"}'],
  ['HEAD', '/healthz', ''],
  ['HEAD', '/readyz', ''],
  ['GET', '/healthz?from=balancer', '{"status":"ok"}'],
]

for (const [method, path, text] of PROBES) {
  test(`${method} ${path} answers without a key`, async () => {
    const answer = await sendTo(front, { method, path, headers: { authorization: undefined } })
    assert.equal(answer.status, 200)
    assert.equal(answer.text, text)
  })
}

test('a page of an allowed origin may read answers and refusals', async () => {
  for (const headers of [{}, BAD_KEY, BAD_TYPE]) {
    const answer = await sendTo(front, { headers: { ...headers, origin: 'https://app.test' } })
    assert.equal(answer.headers['access-control-allow-origin'], 'https://app.test')
    assert.equal(answer.headers['access-control-allow-credentials'], 'true')
    assert.match(String(answer.headers['access-control-expose-headers']), /X-Request-Id/)
    assert.equal(answer.headers.vary, 'Origin')
  }
})

for (const origin of [
  'https://other.test',
  'null',
  'https://app.test.other.test',
  'http://app.test',
  'HTTPS://APP.TEST',
]) {
  test(`a page of ${origin} may not`, async () => {
    const answer = await sendTo(front, { headers: { origin } })
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    assert.equal(answer.headers.vary, 'Origin')
    const preflight = await sendTo(front, { method: 'OPTIONS', headers: { origin } })
    assert.equal(preflight.headers['access-control-allow-methods'], undefined)
  })
}

test('a preflight gets an answer without a key, with the requested methods and headers', async () => {
  const answer = await sendTo(front, {
    method: 'OPTIONS',
    headers: {
      authorization: undefined,
      'content-type': undefined,
      origin: 'https://app.test',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, x-stainless-os',
    },
  })
  assert.equal(answer.status, 204)
  assert.equal(answer.headers['access-control-allow-origin'], 'https://app.test')
  assert.equal(answer.headers['access-control-allow-headers'], 'authorization, x-stainless-os')
  assert.match(String(answer.headers['access-control-allow-methods']), /POST/)
})

test('a refused preflight writes a log line with the origin and the reason', async () => {
  for (const [one, origin, why] of [
    [front, 'https://unlisted.test', /is not in gateway\.cors\.allowed_origins/],
    [silent, 'https://a.test', /gateway\.cors\.allowed_origins is empty/],
  ] as const) {
    const headers = { origin, 'access-control-request-method': 'POST', authorization: undefined }
    const answer = await sendTo(one, { method: 'OPTIONS', headers })
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    const id = String(answer.headers['x-request-id'])
    const find = () =>
      one.gateway
        .output()
        .split('\n')
        .find((line) => line.includes(id))
    await until('it is logged', async () => find() !== undefined)
    const line = JSON.parse(find() ?? '')
    assert.deepEqual([line.event, line.origin, line.method], ['cors_refused', origin, 'POST'])
    assert.match(line.why, why)
  }
})

/** A page may read these without permission, or never: they belong to the connection or to CORS itself. */
const NOT_LISTED =
  /^(access-control-.+|vary|date|connection|keep-alive|transfer-encoding|upgrade|x-accel-buffering|cache-control|content-.+)$/

test('a page may read every header that an answer has, in every API', async () => {
  const unread = new Set<string>()
  const statuses = new Set<number>()
  const message = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 }
  const chat = { path: '/v1/chat/completions', body: { ...message, model: 'old' } }
  const messages = { path: '/v1/messages', body: { ...message, model: 'chat' } }
  const count = { path: '/v1/messages/count_tokens', body: messages.body }
  const unknown = { path: chat.path, body: { ...message, model: 'none' } }
  for (const { path, body } of [chat, count, unknown, messages, messages, chat]) {
    const headers = { origin: 'https://app.test' }
    const answer = await sendTo(limited, { path, headers, body: JSON.stringify(body) })
    statuses.add(answer.status)
    collectUnread(answer.headers, unread)
  }
  for (const sent of [{ method: 'PUT' }, { headers: BAD_KEY }]) {
    const headers = { ...sent.headers, origin: 'https://app.test' }
    const answer = await sendTo(limited, { ...sent, headers })
    statuses.add(answer.status)
    collectUnread(answer.headers, unread)
  }
  assert.deepEqual([...statuses].sort(), [200, 401, 404, 405, 429])
  assert.deepEqual([...unread], [])
})

function collectUnread(headers: IncomingHttpHeaders, unread: Set<string>): void {
  const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(', ')
  for (const name of Object.keys(headers))
    if (!exposed.includes(name) && !NOT_LISTED.test(name)) unread.add(name)
}

test('any origin allows every page, without credentials', async () => {
  const headers = { authorization: `Bearer ${open.key}`, origin: 'https://a.test' }
  const answer = await sendTo(open, { headers })
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['access-control-allow-credentials'], undefined)
})

test('a gateway without origins sends no CORS headers', async () => {
  const headers = { authorization: `Bearer ${silent.key}`, origin: 'https://a.test' }
  const answer = await sendTo(silent, { headers })
  const names = Object.keys(answer.headers)
  assert.deepEqual(
    names.filter((name) => /access-control|vary/.test(name)),
    [],
  )
})
