/** Every answer to a tenant has its exact limits, and no answer to a stranger has any. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import {
  after as afterwards,
  failing,
  type Heard,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  assertLimited,
  keysOf,
  limitHeaders,
  PRICES,
  startLimited,
} from './limits/limited-gateway.ts'

/** Requests that fit the bucket of a tenant without a separate rule. */
const CAPACITY = 100

const upstream = await startUpstream()
const tenants = ['acme', 'rated', 'daily', 'monthly', 'full', 'spent', 'narrow']
const keys = keysOf(tenants, { narrow: ['other'] })
const revoked = aKey({ id: 'revoked', tenant: 'acme', revoked_at: '2026-01-01T00:00:00Z' })
const expired = aKey({ id: 'expired', tenant: 'acme', expires_at: '2026-01-01T00:00:00Z' })
const gateway = await startLimited(
  {
    gateway: { max_request_bytes: 2000 },
    api_keys: [...keys.records, revoked.record, expired.record],
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'other', strategy: 'single', primary: 'up' },
    ],
    // One a minute: less than one request leaks during a test.
    rate_limits: {
      default: { requests_per_minute: 1, burst: CAPACITY },
      tenants: [{ tenant: 'full', burst: 1 }],
    },
    budgets: [
      { tenant: 'acme', tokens_per_day: 1000, spend_per_month_usd: 1 },
      { tenant: 'daily', tokens_per_day: 500 },
      { tenant: 'monthly', spend_per_month_usd: 12.5 },
      { tenant: 'spent', tokens_per_day: 10, spend_per_month_usd: 0.000_13 },
    ],
    pricing: PRICES,
  },
  keys,
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

interface Sent {
  readonly path?: string
  readonly key?: string
  readonly body?: string
  readonly type?: string
  readonly method?: string
}

const QUESTION = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}'

async function send(tenant: string, sent: Sent = {}): Promise<Heard> {
  const { process, key } = gateway.as(tenant)
  const {
    path = '/v1/chat/completions',
    method = sent.path ? 'GET' : 'POST',
    body = QUESTION,
  } = sent
  const answer = await fetch(process.url + path, {
    method,
    headers: {
      authorization: `Bearer ${sent.key ?? key}`,
      'content-type': sent.type ?? 'application/json',
    },
    ...(method === 'POST' && { body }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text, cut: false }
}

/**
 * Exactly these requests, tokens and dollars; the reset allows for leakage of less than a minute.
 */
function assertTold(answer: Heard, remaining: number, tokens?: string, usd?: string): void {
  const { 'ratelimit-reset': reset, ...others } = limitHeaders(answer)
  assert.deepEqual(others, {
    'ratelimit-limit': '1',
    'ratelimit-remaining': String(remaining),
    ...(tokens !== undefined && { 'budget-tokens-remaining': tokens }),
    ...(usd !== undefined && { 'budget-spend-remaining-usd': usd }),
  })
  const used = CAPACITY - remaining
  assert.match(String(reset), /^\d+$/)
  assert.ok(Number(reset) <= used * 60 && Number(reset) >= used * 60 - 59, `reset ${reset}`)
}

test('all five headers are on an answer before the first request', async () => {
  const answer = await send('acme', { path: '/v1/models' })
  assert.equal(answer.status, 200)
  assertTold(answer, 100, '1000', '1')
})

test('an answer shows the remainder with its own request charged and not yet billed', async () => {
  const answer = await send('acme')
  assert.equal(answer.status, 200)
  assertTold(answer, 99, '1000', '1')
})

const MISTAKES: readonly [what: string, status: number, sent: Sent][] = [
  ['invalid JSON', 400, { body: '{' }],
  ['a question without messages', 400, { body: '{"model":"chat"}' }],
  ['an unknown route', 404, { body: QUESTION.replace('chat', 'nowhere') }],
  ['a body that is too large', 413, { body: QUESTION.replace('hi', 'x'.repeat(3000)) }],
  ['a body of another type', 415, { type: 'text/plain' }],
  ['the list of models', 200, { path: '/v1/models' }],
  ['one model', 200, { path: '/v1/models/chat' }],
  ['an unknown model', 404, { path: '/v1/models/nowhere' }],
  ['the headers as received', 200, { path: '/v1/debug/echo-headers' }],
]

for (const [what, status, sent] of MISTAKES) {
  test(`all five headers are on ${status} for ${what}, which charges nothing`, async () => {
    const answer = await send('acme', sent)
    assert.equal(answer.status, status, answer.text)
    assertTold(answer, 99, '990', '0.99987')
  })
}

test('all five headers are on 403 for a route that the key may not use', async () => {
  const answer = await send('narrow')
  assert.equal(answer.status, 403)
  assertTold(answer, 100)
})

test('all five headers are on the head of a stream', async () => {
  upstream.script.push(streaming())
  const answer = await send('acme', { body: QUESTION.replace('{', '{"stream":true,') })
  assert.match(String(answer.headers['content-type']), /event-stream/)
  assertTold(answer, 98, '990', '0.99987')
})

test("all five headers are on an upstream's failure and refusal", async () => {
  upstream.script.push(failing(500), failing(422))
  const failed = await send('acme')
  assert.equal(failed.status, 502)
  assertTold(failed, 97, '980', '0.99974')
  const refused = await send('acme')
  assert.equal(refused.status, 422)
  assertTold(refused, 96, '980', '0.99974')
})

test("all headers are on the gateway's 429", async () => {
  await send('full')
  const answer = await send('full')
  assert.equal(answer.status, 429)
  assert.deepEqual(limitHeaders(answer), {
    'ratelimit-limit': '1',
    'ratelimit-remaining': '0',
    'ratelimit-reset': answer.headers['retry-after'],
  })
})

test('all five headers are on 402, and no remainder is negative', async () => {
  await send('spent')
  const answer = await send('spent')
  assert.equal(answer.status, 402)
  assertTold(answer, 99, '0', '0')
})

test('only a tenant with budgets gets budget headers', async () => {
  assertTold(await send('rated'), 99)
  assertTold(await send('daily'), 99, '500')
  assertTold(await send('monthly'), 99, undefined, '12.5')
  assertTold(await send('monthly'), 98, undefined, '12.49987')
})

test('401 shows no limits, for any former owner of the key', async () => {
  for (const key of ['unknown', revoked.key, expired.key]) {
    for (const sent of [
      { key },
      { key, path: '/v1/models' },
      { key, path: '/v1/debug/echo-headers' },
    ]) {
      const answer = await send('acme', sent)
      assert.equal(answer.status, 401)
      assert.deepEqual(limitHeaders(answer), {})
    }
  }
})

test("a file without limits has the default ones, and answers show the tenants' figures", async () => {
  const front = await startFront({
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    rate_limits: undefined,
  })
  const { promise: release, resolve } = Promise.withResolvers<void>()
  try {
    const { 'ratelimit-reset': _, ...others } = limitHeaders(await front.chat())
    assert.deepEqual(others, { 'ratelimit-limit': '120', 'ratelimit-remaining': '29' })
    upstream.script.push(...Array.from({ length: 16 }, () => afterwards(release, whole())))
    const running = Array.from({ length: 16 }, () => front.chat())
    await until('sixteen run', async () => {
      return (await front.admin('/limits/acme')).concurrent_requests.used === 16
    })
    const { limit, used } = assertLimited(await front.chat(), 'concurrency')
    assert.deepEqual([limit, used], [16, 16])
    resolve()
    for (const one of running) assert.equal((await one).status, 200)
  } finally {
    resolve()
    await front.process.stop()
  }
})
