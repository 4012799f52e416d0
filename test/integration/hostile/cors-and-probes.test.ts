/** Browsers and load balancers: which pages may read an answer, and which requests need no key. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { startFront } from './front.ts'
import { sendTo } from './send.ts'

const front = await startFront({
  gateway: { cors: { allowed_origins: ['https://app.test'], allow_credentials: true } },
})
const open = await startFront({ gateway: { cors: { allowed_origins: ['*'] } } })
const silent = await startFront()
after(() => Promise.all([front.stop(), open.stop(), silent.stop()]))

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
