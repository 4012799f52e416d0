/** The checks before a request reaches an upstream: the order of refusals, and their form. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { CHAT_BODY, startFront } from './hostile/front.ts'
import { type Sent, sendTo } from './hostile/send.ts'

const LIMIT = 4096
const front = await startFront({ gateway: { max_request_bytes: LIMIT } })
after(() => front.stop())

beforeEach(() => {
  front.upstream.asked.length = 0
})

const BAD_KEY = { authorization: 'Bearer gw_test_nobody_x' }
const BAD_TYPE = { 'content-type': 'text/plain' }
const BAD_WIRE = { expect: '200-ok' }
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
    'the key in another case',
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
    'a bad key and a body that is too large',
    { headers: BAD_KEY, body: LONG },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'a bad key and a wrong type',
    { headers: { ...BAD_KEY, ...BAD_TYPE } },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  ['a bad key and bad JSON', { headers: BAD_KEY, body: '{' }, 401, 'ERR_GW_AUTH_INVALID_KEY'],
  [
    'a bad key and an unknown model',
    { headers: BAD_KEY, body: CHAT_BODY.replace('chat', 'x') },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  [
    'bad HTTP and a bad key',
    { headers: { ...BAD_KEY, ...BAD_WIRE } },
    400,
    'ERR_GW_INVALID_REQUEST',
  ],
  [
    'too many headers and a bad key',
    { headers: { ...BAD_KEY, ...MANY } },
    431,
    'ERR_GW_HEADERS_TOO_LARGE',
  ],
  [
    'too large headers and a bad key',
    { headers: { ...BAD_KEY, x: 'a'.repeat(17_000) } },
    431,
    'ERR_GW_HEADERS_TOO_LARGE',
  ],
  ['two different keys', { headers: { 'x-api-key': 'other' } }, 400, 'ERR_GW_INVALID_REQUEST'],
  [
    'bad HTTP and a wrong type',
    { headers: { ...BAD_WIRE, ...BAD_TYPE } },
    400,
    'ERR_GW_INVALID_REQUEST',
  ],
  [
    'a wrong type and a body that is too large',
    { headers: BAD_TYPE, body: LONG },
    415,
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    'a wrong type and bad JSON',
    { headers: BAD_TYPE, body: '{' },
    415,
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
  ],
  ['a body that is too large, and bad JSON', { body: `{${LONG}` }, 413, 'ERR_GW_REQUEST_TOO_LARGE'],
  ['bad JSON and an unknown model', { body: '{"model":"x"' }, 400, 'ERR_GW_INVALID_REQUEST'],
  ['an unknown model', { body: CHAT_BODY.replace('chat', 'x') }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  ['an unknown path', { path: '/v2/chat' }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
  ['a POST to the root', { path: '/', method: 'POST' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
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
  [
    'a WebSocket',
    {
      path: '/v1/responses',
      method: 'GET',
      headers: { connection: 'upgrade', upgrade: 'websocket' },
    },
    426,
    'ERR_GW_UPGRADE_REQUIRED',
  ],
  ['another method', { method: 'PUT' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['GET of a chat', { method: 'GET' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['POST of the models', { path: '/v1/models' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['POST of a model', { path: '/v1/models/chat' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  ['POST of a probe', { path: '/healthz' }, 405, 'ERR_GW_METHOD_NOT_ALLOWED'],
  [
    'models without a key',
    { path: '/v1/models', method: 'GET', headers: BAD_KEY },
    401,
    'ERR_GW_AUTH_INVALID_KEY',
  ],
  ['an unknown model', { path: '/v1/models/x', method: 'GET' }, 404, 'ERR_GW_ROUTE_NOT_FOUND'],
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
    const answer = await sendTo(front, sent)
    assert.equal(answer.status, status, answer.text)
    const { error } = JSON.parse(answer.text)
    assert.equal(error.code, code)
    assert.deepEqual(Object.keys(error).slice(0, 4), ['message', 'type', 'param', 'code'])
    assert.equal(typeof error.message, 'string')
    assert.equal(typeof error.type, 'string')
    assert.equal(error.request_id, answer.headers['x-request-id'])
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]+-[0-9a-z-]+$/)
    assert.equal(answer.headers['x-gw-route'], 'none')
    assert.equal(answer.headers['x-gw-upstream'], 'none')
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.equal(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined)
    // The same request would be refused again.
    assert.equal(answer.headers['x-should-retry'], 'false')
    assert.equal(front.upstream.asked.length, 0)
  })
}

test('a bad key gets the same answer, regardless of its fault', async () => {
  const texts = ['Bearer x', 'Bearer gw_test_client_x', 'Bearer gw_live_x'].map(messageFor)
  assert.equal(new Set(await Promise.all(texts)).size, 1)
})

async function messageFor(authorization: string | undefined): Promise<string> {
  const { status, text } = await sendTo(front, { headers: { authorization } })
  assert.equal(status, 401)
  return JSON.parse(text).error.message
}

test('a client without a key reads that no key arrived, and that an intermediary may have removed it', async () => {
  assert.match(await messageFor(undefined), /^No API key has arrived\. .*on the way/)
})

test('a client that sends a key without "Bearer" reads the correct form, and the answer does not repeat the key', async () => {
  const { key } = front
  for (const authorization of [
    'Basic dXNlcjpwYXNz',
    key,
    `Token ${key}`,
    'Bearer',
    `Bearer ${key} ${key}`,
  ]) {
    const message = await messageFor(authorization)
    assert.match(message, /Authorization must be 'Bearer <key>'/, authorization)
    assert.ok(!message.includes(key))
  }
})

test('the answer to a wrong method lists the right ones', async () => {
  const chat = await sendTo(front, { method: 'GET' })
  assert.equal(chat.headers.allow, 'POST, OPTIONS')
  for (const path of ['/healthz', '/v1/models', '/v1/models/chat', '/v1/debug/echo-headers']) {
    assert.equal((await sendTo(front, { path })).headers.allow, 'GET, HEAD, OPTIONS', path)
  }
})

test('a WebSocket handshake is refused at once because the path speaks HTTP/1.1, with a key and without, and the connection stays open', async () => {
  const headers = {
    ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  for (const more of [{}, BAD_KEY])
    for (const path of ['/v1/messages', '/messages', '/v1/chat/completions']) {
      const answer = await sendTo(front, { path, method: 'GET', headers: { ...headers, ...more } })
      assert.equal(answer.status, 426, path)
      assert.equal(answer.headers.upgrade, 'HTTP/1.1')
      assert.match(String(answer.headers.connection), /^upgrade$/i)
      assert.match(JSON.parse(answer.text).error.message, /is not a WebSocket path; send a POST/)
    }
})

test('the answer to an unknown path suggests the most likely one', async () => {
  const rows = [
    ['/v1/chat/completion', 'POST /v1/chat/completions'],
    ['/V1/Chat/Completions', 'POST /v1/chat/completions'],
    ['/api/chat', 'POST /v1/chat/completions'],
    ['/v1/embed', 'POST /v1/embeddings'],
    ['/anthropic/v1/messages', 'POST /v1/messages'],
    ['/v1/model', 'GET /v1/models'],
  ] as const
  for (const [path, meant] of rows) {
    const answer = await sendTo(front, { path })
    assert.equal(answer.status, 404)
    const { message } = JSON.parse(answer.text).error
    assert.ok(message.startsWith(`Did you mean ${meant}? POST ${path} is not offered`), message)
  }
})

test('an unknown path or method still returns the limits of the tenant to a client with a key', async () => {
  const limit = 'x-gw-ratelimit-limit'
  for (const sent of [{ method: 'GET' }, { path: '/v2/chat' }]) {
    const known = await sendTo(front, sent)
    assert.match(String(known.headers[limit]), /^[0-9]+$/)
    const unknown = await sendTo(front, { ...sent, headers: BAD_KEY })
    assert.deepEqual([unknown.status, unknown.headers[limit]], [known.status, undefined])
  }
})

test('if a path answers GET, HEAD returns the same status and headers without a body', async () => {
  for (const path of ['/v1/models', '/v1/models/chat', '/v1/debug/echo-headers']) {
    const [got, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => sendTo(front, { path, method })),
    )
    assert.deepEqual([head?.status, head?.text], [200, ''])
    assert.equal(head?.headers['content-length'], got?.headers['content-length'])
    const keyless = { path, method: 'HEAD', headers: BAD_KEY }
    assert.equal((await sendTo(front, keyless)).status, 401)
  }
})

test('a header that was sent twice is echoed with both values', async () => {
  const headers = { 'x-forwarded-for': ['10.0.0.1', '10.0.0.2'] }
  const { text } = await sendTo(front, { path: '/v1/debug/echo-headers', method: 'GET', headers })
  assert.equal(JSON.parse(text).headers['x-forwarded-for'], '10.0.0.1, 10.0.0.2')
})

const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl'

/** Names of credentials, and values that look like credentials under any name. */
const SECRETS = {
  'proxy-authorization': 'Basic dXNlcjpwYXNzd29yZA==',
  cookie: 'session=0123456789abcdef',
  'set-cookie': 'session=0123456789abcdef',
  ...Object.fromEntries(
    [
      ...[
        'x-vendor-api-key',
        'x-apikey',
        'ocp-apim-subscription-apikey',
        'x-forwarded-access-token',
      ],
      ...[
        'x-csrf-token',
        'token',
        'x-client-secret',
        'x-hub-signature',
        'signature',
        'x-credential',
      ],
      ...['x-jwt-assertion', 'x-amz-security', 'x-amz-date', 'x-goog-iap-user', 'cf-access-user'],
      ...['X-Mixed-Api-Key', 'x_api_key'],
    ].map((name) => [name, 'a plain value of 24 signs']),
  ),
  'x-note': JWT,
  'x-inside': `jwt=${JWT}; v=1`,
  'x-auth': 'Bearer 0123456789abcdefgh',
  'x-legacy': 'basic dXNlcjpwYXNzd29yZA==',
  'x-hosted': 'sk-abcdefghijklmnop',
}

const PLAIN = {
  ...{ accept: '*/*', 'accept-encoding': 'gzip', 'user-agent': 'sdk/1', 'x-request-id': 'a-1' },
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ...{ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.test', via: '1.1 proxy' },
  ...{ 'x-unknown': 'an unknown value', 'x-short': 'hunter2', 'x-tenant': 'blue', 'cf-ray': '8a1' },
  ...{
    'x-api-key-id': 'k-7',
    'x-tokens': '512',
    'x-goog-request-params': 'a=b',
    'x-amzn-trace-id': 'Root=1-2-3',
  },
  ...{ 'x-hash': 'a.b.c', 'x-word': 'bearer', 'x-version': '1.2.3', 'x-empty': '' },
}

test('an echo shows values as received, but only the length and the beginning of credentials, which it recognises by name and form', async () => {
  const all = { ...PLAIN, ...SECRETS, 'x-own': front.key, 'x-tail': `key ${front.key}` }
  for (const more of [{}, { 'x-handed-over': '\u00e9' }]) {
    const headers = { ...all, ...more }
    const { text } = await sendTo(front, { path: '/v1/debug/echo-headers', method: 'GET', headers })
    const echoed = JSON.parse(text).headers
    assert.partialDeepStrictEqual(echoed, PLAIN)
    const hidden = { ...SECRETS, 'x-own': front.key, 'x-tail': all['x-tail'] }
    for (const [name, value] of Object.entries(hidden)) {
      const shown = `${value.slice(0, 4)}… (${value.length} characters)`
      assert.equal(echoed[name.toLowerCase()], shown, name)
    }
    assert.equal(
      echoed.authorization,
      `${`Bearer ${front.key}`.slice(0, 12)}… (${front.key.length + 7} characters)`,
    )
  }
})

test('a value sent in x-api-key together with a key shows at most a quarter of itself', async () => {
  const headers = { authorization: 'hunter2hunter2', 'x-api-key': front.key }
  const { text } = await sendTo(front, { path: '/v1/debug/echo-headers', method: 'GET', headers })
  assert.equal(JSON.parse(text).headers.authorization, 'hun… (14 characters)')
})

test('an answer names its route and upstream', async () => {
  const { status, headers } = await sendTo(front)
  assert.equal(status, 200)
  assert.equal(headers['x-gw-route'], 'chat')
  assert.equal(headers['x-gw-upstream'], 'fake')
})
