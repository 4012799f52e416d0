/** What a client meets before any upstream does: the order of refusals, their form, CORS, probes, paths and methods. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { after, beforeEach, test } from 'node:test'
import { CHAT_BODY, startFront } from './hostile/front.ts'

const LIMIT = 4096
const front = await startFront({
  gateway: {
    max_request_bytes: LIMIT,
    cors: { allowed_origins: ['https://app.test'], allow_credentials: true },
  },
})
const open = await startFront({ gateway: { cors: { allowed_origins: ['*'] } } })
const silent = await startFront()
after(() => Promise.all([front.stop(), open.stop(), silent.stop()]))

beforeEach(() => {
  front.upstream.asked.length = 0
})

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string | Buffer
  readonly to?: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A chat request; a header of `undefined` is left out. */
async function send(sent: Sent = {}): Promise<Answer> {
  const { method = 'POST', path = '/v1/chat/completions', to = front.gateway.url } = sent
  const body = sent.body ?? (method === 'POST' ? CHAT_BODY : undefined)
  const headers = Object.entries({
    authorization: `Bearer ${front.key}`,
    'content-type': 'application/json',
    ...sent.headers,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const outgoing = request(to + path, {
    method,
    headers: Object.fromEntries(headers),
    agent: false,
  })
  outgoing.end(body)
  const [incoming] = await once(outgoing, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return {
    status: incoming.statusCode,
    headers: incoming.headers,
    text: Buffer.concat(chunks).toString(),
  }
}

const BAD_KEY = { authorization: 'Bearer gw_test_nobody_x' }
const BAD_TYPE = { 'content-type': 'text/plain' }
const BAD_WIRE = { upgrade: 'h2c' }
const MANY = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, '1']))
const LONG = 'a'.repeat(LIMIT + 1)

const REFUSALS: readonly [string, Sent, number, string][] = [
  ['no key', { headers: { authorization: undefined } }, 401, 'ERR_GW_AUTH_INVALID_KEY'],
  ['an unknown key', { headers: BAD_KEY }, 401, 'ERR_GW_AUTH_INVALID_KEY'],
  [
    'a key with another scheme',
    { headers: { authorization: 'Basic eDp5' } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'a bearer without a key',
    { headers: { authorization: 'Bearer' } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'a key of 10 KiB',
    { headers: { authorization: `Bearer ${'k'.repeat(10_000)}` } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'the key with a letter more',
    { headers: { authorization: `Bearer ${front.key}x` } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'the key in other case',
    { headers: { authorization: `Bearer ${front.key.toUpperCase()}` } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  ['SQL as key', { headers: { authorization: "Bearer '--" } }, 401, 'ERR_GW_AUTH_INVALID_KEY'],
  [
    'a member of every object as key',
    { headers: { authorization: 'Bearer __proto__' } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'a bad key before a body that is too large',
    { headers: BAD_KEY, body: LONG },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'a bad key before a wrong type',
    { headers: { ...BAD_KEY, ...BAD_TYPE } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  ['a bad key before bad JSON', { headers: BAD_KEY, body: '{' }, 401, 'ERR_GW_AUTH_INVALID_KEY'],
  [
    'a bad key before an unknown model',
    { headers: BAD_KEY, body: CHAT_BODY.replace('chat', 'x') },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'bad HTTP before a bad key',
    { headers: { ...BAD_KEY, ...BAD_WIRE } },
    400,
    'ERR_GW_INVALID_REQUEST',
  ],
  [
    'too many headers before a bad key',
    { headers: { ...BAD_KEY, ...MANY } },
    431,
    'ERR_GW_HEADERS_TOO_LARGE',
  ],
  [
    'headers too large before a bad key',
    { headers: { ...BAD_KEY, x: 'a'.repeat(17_000) } },
    431,
    'ERR_GW_HEADERS_TOO_LARGE',
  ],
  ['two different keys', { headers: { 'x-api-key': 'other' } }, 400, 'ERR_GW_INVALID_REQUEST'],
  [
    'bad HTTP before a wrong type',
    { headers: { ...BAD_WIRE, ...BAD_TYPE } },
    400,
    'ERR_GW_INVALID_REQUEST',
  ],
  [
    'a wrong type before a body that is too large',
    { headers: BAD_TYPE, body: LONG },
    415,
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    'a wrong type before bad JSON',
    { headers: BAD_TYPE, body: '{' },
    415,
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    'a body that is too large before bad JSON',
    { body: `{${LONG}` },
    413,
    'ERR_GW_REQUEST_TOO_LARGE',
  ],
  ['bad JSON before an unknown model', { body: '{"model":"x"' }, 400, 'ERR_GW_INVALID_REQUEST'],
  ['an unknown model', { body: CHAT_BODY.replace('chat', 'x') }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  ['an unknown path', { path: '/v2/chat' }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  ['the root', { path: '/', method: 'GET' }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  [
    'the admin API at the client port',
    { path: '/config', method: 'GET' },
    404,
    'ERR_GW_ROUTE_NOT_FOUND',
  ],
  [
    'metrics at the client port',
    { path: '/metrics', method: 'GET' },
    404,
    'ERR_GW_ROUTE_NOT_FOUND',
  ],
  ['a path of every object', { path: '/__proto__', method: 'GET' }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  ['another method', { method: 'PUT' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['GET of a chat', { method: 'GET' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['POST of the models', { path: '/v1/models' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['POST of a probe', { path: '/healthz' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  [
    'models without a key',
    { path: '/v1/models', method: 'GET', headers: BAD_KEY },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  ['a model that is none', { path: '/v1/models/x', method: 'GET' }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  [
    'a model of every object',
    { path: '/v1/models/constructor', method: 'GET' },
    404,
    'ERR_GW_ROUTE_NOT_FOUND',
  ],
  [
    'echo without a key',
    { path: '/v1/debug/echo-headers', method: 'GET', headers: BAD_KEY },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
]

for (const [what, sent, status, code] of REFUSALS) {
  test(`${what}: ${status} ${code}, in OpenAI's envelope`, async () => {
    const answer = await send(sent)
    assert.equal(answer.status, status, answer.text)
    const { error } = JSON.parse(answer.text)
    assert.equal(error.code, code)
    assert.deepEqual(Object.keys(error).slice(0, 4), ['message', 'type', 'param', 'code'])
    assert.equal(typeof error.message, 'string')
    assert.equal(typeof error.type, 'string')
    assert.equal(error.request_id, answer.headers['x-request-id'])
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{6}-[0-9a-f-]{36}$/)
    assert.equal(answer.headers['x-gw-route'], 'none')
    assert.equal(answer.headers['x-gw-upstream'], 'none')
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.equal(front.upstream.asked.length, 0)
  })
}

test('a bad key hears the same whatever is wrong with it', async () => {
  const texts = [undefined, 'Bearer x', 'Bearer gw_test_client_x', 'Basic x'].map(
    async (authorization) => {
      const { text } = await send({ headers: { authorization } })
      return JSON.parse(text).error.message
    },
  )
  assert.equal(new Set(await Promise.all(texts)).size, 1)
})

test('an answer names its route and upstream', async () => {
  const { status, headers } = await send()
  assert.equal(status, 200)
  assert.equal(headers['x-gw-route'], 'chat')
  assert.equal(headers['x-gw-upstream'], 'fake')
})

const PROBES: readonly [string, string, string][] = [
  ['GET', '/healthz', '{"status":"ok"}'],
  ['GET', '/readyz', '{"status":"ready"}'],
  ['HEAD', '/healthz', ''],
  ['HEAD', '/readyz', ''],
  ['GET', '/healthz?from=balancer', '{"status":"ok"}'],
]

for (const [method, path, text] of PROBES) {
  test(`${method} ${path} answers without a key`, async () => {
    const answer = await send({ method, path, headers: { authorization: undefined } })
    assert.equal(answer.status, 200)
    assert.equal(answer.text, text)
  })
}

test('a page of an allowed origin may read answers and refusals', async () => {
  for (const headers of [{}, BAD_KEY, BAD_TYPE]) {
    const answer = await send({ headers: { ...headers, origin: 'https://app.test' } })
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
    const answer = await send({ headers: { origin } })
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    assert.equal(answer.headers.vary, 'Origin')
    const preflight = await send({ method: 'OPTIONS', headers: { origin } })
    assert.equal(preflight.headers['access-control-allow-methods'], undefined)
  })
}

test('a preflight is answered without a key, with what was asked for', async () => {
  const answer = await send({
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

test('any origin means any, without credentials', async () => {
  const headers = { authorization: `Bearer ${open.key}`, origin: 'https://a.test' }
  const answer = await send({ to: open.gateway.url, headers })
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.equal(answer.headers['access-control-allow-credentials'], undefined)
})

test('a gateway without origins says nothing to pages', async () => {
  const headers = { authorization: `Bearer ${silent.key}`, origin: 'https://a.test' }
  const answer = await send({ to: silent.gateway.url, headers })
  const names = Object.keys(answer.headers)
  assert.deepEqual(
    names.filter((name) => /access-control|vary/.test(name)),
    [],
  )
})
