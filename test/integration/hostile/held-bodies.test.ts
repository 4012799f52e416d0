/** Unfinished bodies count against their tenant; requests that need no body do not wait for one. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { startGateway } from '../../helpers/gateway-process.ts'
import { until } from '../../helpers/until.ts'
import { startFakeUpstream } from './fake-upstream.ts'
import { RawSocket } from './raw-socket.ts'

const upstream = await startFakeUpstream()
const keys = {
  two: aKey({ id: 'two', tenant: 'two' }),
  cut: aKey({ id: 'cut', tenant: 'cut' }),
  slow: aKey({ id: 'slow', tenant: 'slow' }),
  wrong: aKey({ id: 'wrong', tenant: 'wrong', routes: ['other'] }),
  lister: aKey({ id: 'lister', tenant: 'lister', scopes: ['models:list'] }),
  elsewhere: aKey({ id: 'elsewhere', tenant: 'elsewhere', routes: ['other'] }),
}
const upstreams = [
  {
    name: 'fake',
    provider: 'openai',
    endpoint: upstream.url,
    model: 'served',
    api_key: '${env:FRONT_CREDENTIAL}',
  },
]
const plenty = { requests_per_minute: 100_000, burst: 20_000, concurrent_requests: 100 }

function documentOf(gateway: Readonly<Record<string, unknown>>) {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      gateway,
      upstreams,
      routes: ['chat', 'other'].map((name) => ({ name, strategy: 'single', primary: 'fake' })),
      api_keys: Object.values(keys).map(({ record }) => record),
      rate_limits: {
        default: plenty,
        tenants: [
          { tenant: 'two', concurrent_requests: 2 },
          { tenant: 'slow', requests_per_minute: 1, burst: 1 },
          { tenant: 'wrong', requests_per_minute: 1, burst: 1 },
        ],
      },
    },
  }
}

const env = { FRONT_CREDENTIAL: 'upstream-credential' }
const gateway = await startGateway({ env, config: documentOf({}) })
const hasty = await startGateway({ env, config: documentOf({ request_timeout_seconds: 1 }) })
after(async () => {
  await Promise.all([gateway.stop(), hasty.stop()])
  await upstream.close()
})

const CHAT = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}'

function headOf(name: keyof typeof keys, framing: string): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${keys[name].key}`,
    'Content-Type: application/json',
    framing,
    '\r\n',
  ].join('\r\n')
}

function open(bytes: string, { url } = gateway): RawSocket {
  const socket = new RawSocket(url)
  socket.send(bytes)
  return socket
}

const LENGTH = 'Content-Length: 8388608'

for (const [how, framing, begun, rest] of [
  ['with a length', `Content-Length: ${CHAT.length}`, CHAT.slice(0, 20), CHAT.slice(20)],
  [
    'in chunks',
    'Transfer-Encoding: chunked',
    `14\r\n${CHAT.slice(0, 20)}\r\n`,
    `${(CHAT.length - 20).toString(16)}\r\n${CHAT.slice(20)}\r\n0\r\n\r\n`,
  ],
] as const) {
  test(`24 unfinished bodies ${how} by a tenant with two slots: two are read, and their slots are released`, async () => {
    const sockets = Array.from({ length: 24 }, () => open(headOf('two', framing) + begun))
    const answered = () => sockets.filter(({ answers }) => answers.length === 1)
    await until('22 have their answer', () => answered().length === 22, 60)
    for (const { answers } of answered()) {
      const [answer] = answers
      assert.equal(answer?.status, 429)
      assert.equal(answer.headers['retry-after'], '1')
      assert.equal(answer.headers['x-gw-ratelimit-limit'], String(plenty.requests_per_minute))
      const { error } = JSON.parse(answer.body)
      assert.deepEqual([error.reason, error.limit, error.used], ['concurrency', 2, 2])
    }
    const waiting = sockets.filter(({ answers }) => answers.length === 0)
    for (const socket of waiting) socket.send(rest)
    for (const socket of waiting) {
      assert.ok(await socket.until(() => socket.answers.length === 1))
      assert.equal(socket.answers[0]?.status, 200)
    }
  })
}

test('a body in chunks of one byte is served', async () => {
  const text = JSON.stringify({
    model: 'chat',
    messages: [{ role: 'user', content: 'x'.repeat(100_000) }],
  })
  const chunks = [...text].map((one) => `1\r\n${one}\r\n`).join('')
  const socket = open(`${headOf('cut', 'Transfer-Encoding: chunked')}${chunks}0\r\n\r\n`)
  assert.ok(await socket.until(() => socket.answers.length === 1))
  assert.equal(socket.answers[0]?.status, 200)
  assert.equal(
    String(upstream.asked.at(-1)?.body).length,
    text.length + 'served'.length - 'chat'.length,
  )
})

test('a key without the scope is refused before a byte of the body arrives', async () => {
  const socket = open(headOf('lister', LENGTH))
  assert.ok(await socket.until(() => socket.answers.length === 1))
  assert.equal(socket.answers[0]?.status, 403)
  assert.match(socket.answers[0]?.body ?? '', /lacks the scope models:invoke/)
})

test('a wrong type and a too large length take precedence over the scope', async () => {
  const typed = headOf('lister', LENGTH).replace('application/json', 'text/plain')
  for (const [status, head] of [
    [415, typed],
    [413, headOf('lister', 'Content-Length: 8388609')],
  ] as const) {
    const socket = open(head)
    assert.ok(await socket.until(() => socket.answers.length === 1))
    assert.equal(socket.answers[0]?.status, status)
  }
})

test('a route that the key may not use is refused before the body is parsed', async () => {
  const wrong = '{"model":"chat","messages":7,"x":[1,]}'
  const socket = open(headOf('elsewhere', `Content-Length: ${wrong.length}`) + wrong)
  assert.ok(await socket.until(() => socket.answers.length === 1))
  assert.equal(socket.answers[0]?.status, 403)
})

test('a request that the store has refused for a period is refused again before a byte of the body', async () => {
  const whole = headOf('slow', `Content-Length: ${CHAT.length}`) + CHAT
  for (const status of [200, 429]) {
    const socket = open(whole)
    assert.ok(await socket.until(() => socket.answers.length === 1))
    assert.equal(socket.answers[0]?.status, status)
    socket.leave()
  }
  const socket = open(headOf('slow', LENGTH))
  assert.ok(await socket.until(() => socket.answers.length === 1))
  const [answer] = socket.answers
  assert.equal(answer?.status, 429)
  assert.equal(JSON.parse(answer.body).error.reason, 'rpm')
  const seconds = Number(answer.headers['retry-after'])
  assert.ok(seconds > 0 && seconds <= 60, String(seconds))
  assert.equal(answer.headers['x-gw-ratelimit-remaining'], '0')
})

test('large bodies that are refused after reading count towards the rate', async () => {
  const large = CHAT.replace('hi', 'x'.repeat(200_000))
  const whole = headOf('wrong', `Content-Length: ${large.length}`) + large
  for (const status of [403, 403, 429]) {
    const socket = open(whole)
    assert.ok(await socket.until(() => socket.answers.length === 1))
    assert.equal(socket.answers[0]?.status, status)
    socket.leave()
  }
})

test('a body must arrive within the timeout of the whole request', async () => {
  const socket = open(headOf('cut', LENGTH), hasty)
  assert.ok(await socket.until(() => socket.answers.length === 1, 30))
  assert.equal(socket.answers[0]?.status, 408)
})
