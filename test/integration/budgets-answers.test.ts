/** The token limit of an answer when a budget needs one and the client sends none. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  after as afterwards,
  errorOf,
  type Heard,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import { assertLimited, keysOf, PRICES, standing, startLimited } from './limits/limited-gateway.ts'

const WINDOW = 1000

const upstream = await startUpstream()
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'up', endpoint: upstream.url },
      { name: 'small', endpoint: upstream.url, context_window: WINDOW },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'short', strategy: 'single', primary: 'up', max_tokens_default: 200 },
      { name: 'small', strategy: 'single', primary: 'small' },
      { name: 'small-long', strategy: 'single', primary: 'small', max_tokens_default: 900 },
      { name: 'either', strategy: 'primary_with_fallback', primary: 'small', fallback: ['up'] },
    ],
    rate_limits: { default: PLENTY },
    budgets: [
      { tenant: 'rich', tokens_per_day: 1_000_000, spend_per_month_usd: 1000 },
      { tenant: 'daily', tokens_per_day: 10_000 },
      { tenant: 'last', tokens_per_day: 1 },
      { tenant: 'last-open', tokens_per_day: 1 },
      { tenant: 'penny', spend_per_month_usd: 0.000_01 },
      { tenant: 'penny-open', spend_per_month_usd: 0.000_01 },
      { tenant: 'pictures', tokens_per_day: 100_000 },
    ],
    pricing: PRICES,
  },
  keysOf([
    ...['rich', 'daily', 'pictures', 'free'],
    ...['last', 'last-open', 'penny', 'penny-open'],
  ]),
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

beforeEach(() => {
  upstream.asked.length = 0
})

/** The limits that the upstream received, and those that the client saw. */
function limitsOf(heard: Heard) {
  assert.equal(heard.status, 200, heard.text)
  const { max_tokens, max_completion_tokens } = upstream.asked.at(-1)?.body ?? {}
  const said = heard.headers['x-gw-max-tokens']
  return {
    ...(max_tokens !== undefined && { max_tokens }),
    ...(max_completion_tokens !== undefined && { max_completion_tokens }),
    said: said === undefined ? undefined : Number(said),
  }
}

function injected(heard: Heard): number {
  const { said, ...received } = limitsOf(heard)
  assert.deepEqual(Object.values(received), [said], 'one limit is sent upstream and reported')
  return said as number
}

/** The reservation of one request of the tenant while it runs. */
async function reservedBy(
  tenant: string,
  wanted: Readonly<Record<string, unknown>>,
): Promise<number> {
  const front = gateway.as(tenant)
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const running = front.chat(wanted)
  await until('the upstream has the request', () => upstream.asked.length > 0)
  const { tokens_per_day } = await standing(front, tenant)
  resolve()
  assert.equal((await running).status, 200)
  return tokens_per_day.reserved
}

/** The largest prompt, in tokens, of such a request. */
function promptOf(wanted: Readonly<Record<string, unknown>>): number {
  const messages = [{ role: 'user', content: 'hi' }]
  return Math.ceil(JSON.stringify({ model: 'chat', messages, ...wanted }).length / 3)
}

for (const [kind, wanted] of [
  ['no limit', {}],
  ['max_tokens: null', { max_tokens: null }],
  ['max_completion_tokens: null', { max_completion_tokens: null }],
] as const) {
  test(`${kind} of the client on a route without a default: no limit is sent upstream or reported`, async () => {
    const heard = await gateway.as('rich').chat(wanted)
    assert.equal(heard.status, 200, heard.text)
    const { max_tokens, max_completion_tokens } = upstream.asked.at(-1)?.body ?? {}
    assert.deepEqual([max_tokens ?? null, max_completion_tokens ?? null], [null, null])
    assert.equal(heard.headers['x-gw-max-tokens'], undefined)
  })
}

test('a stream gets no limit either', async () => {
  upstream.script.push(streaming())
  assert.deepEqual(limitsOf(await gateway.as('rich').stream()), { said: undefined })
})

test('16,384 tokens are reserved if neither client nor route sets a limit', async () => {
  assert.equal(await reservedBy('rich', {}), promptOf({}) + 16_384)
})

test('each of several choices gets a full reservation', async () => {
  assert.equal(await reservedBy('rich', { n: 3 }), promptOf({ n: 3 }) + 3 * 16_384)
})

test('at most half of the context window is reserved', async () => {
  const wanted = { model: 'small' }
  assert.equal(await reservedBy('rich', wanted), promptOf(wanted) + WINDOW / 2)
})

test('a reservation may exceed the whole budget: the first request runs, another waits', async () => {
  const front = gateway.as('daily')
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const running = front.chat()
  await until('the upstream has the request', () => upstream.asked.length > 0)
  assertLimited(await front.chat(), 'budget_reserved')
  resolve()
  assert.equal((await running).status, 200)
  assert.equal((await front.chat()).status, 200)
})

test("the route's max_tokens_default is sent upstream if the client sends no limit", async () => {
  assert.equal(injected(await gateway.as('rich').chat({ model: 'short' })), 200)
  upstream.script.push(streaming())
  assert.equal(injected(await gateway.as('rich').stream({ model: 'short' })), 200)
})

test('it never exceeds the rest of the context window', async () => {
  const front = gateway.as('rich')
  const content = 'word '.repeat(400)
  const limit = injected(
    await front.chat({ model: 'small-long', messages: [{ role: 'user', content }] }),
  )
  assert.ok(limit <= WINDOW - content.length / 4, `${limit}`)
  assert.ok(limit > WINDOW / 4, `${limit}`)
})

test('a prompt that leaves no room for an answer is refused with 400', async () => {
  // One token for each four characters, and four around the message.
  const messages = [{ role: 'user', content: 'x'.repeat(4 * (WINDOW - 4)) }]
  const heard = await gateway.as('rich').chat({ model: 'small', messages })
  assert.equal(heard.status, 400, heard.text)
  assert.equal(errorOf(heard).code, 'ERR_GW_CONTEXT_OVERFLOW')
  assert.equal(upstream.asked.length, 0)
})

for (const tenant of ['last', 'penny']) {
  test(`a nearly spent budget cuts no answer, and the next request gets 402: ${tenant}`, async () => {
    const front = gateway.as(tenant)
    const wanted = { model: 'short' }
    assert.equal(injected(await front.chat(wanted)), 200)
    assert.equal((await front.chat(wanted)).status, 402)
  })

  test(`without a default the request that exceeds the cap is also served whole: ${tenant}`, async () => {
    const front = gateway.as(`${tenant}-open`)
    assert.deepEqual(limitsOf(await front.chat()), { said: undefined })
    assert.equal((await front.chat()).status, 402)
  })
}

test("the client's own limit passes unchanged, and no header reports it", async () => {
  const front = gateway.as('rich')
  assert.deepEqual(limitsOf(await front.chat({ max_tokens: 17 })), {
    max_tokens: 17,
    said: undefined,
  })
  assert.deepEqual(limitsOf(await front.chat({ max_completion_tokens: 18 })), {
    max_completion_tokens: 18,
    said: undefined,
  })
  const large = { max_tokens: 50_000 }
  assert.deepEqual(limitsOf(await gateway.as('daily').chat(large)), { ...large, said: undefined })
})

test('a tenant without a budget gets no limit', async () => {
  assert.deepEqual(limitsOf(await gateway.as('free').chat()), { said: undefined })
  assert.deepEqual(limitsOf(await gateway.as('free').chat({ model: 'short' })), { said: undefined })
})

test('max_tokens of one choice is checked against the window, even with several choices', async () => {
  const content = 'word '.repeat(100)
  const asked = { model: 'small', max_tokens: 700, messages: [{ role: 'user', content }] }
  for (const tenant of ['rich', 'free']) {
    assert.equal((await gateway.as(tenant).chat(asked)).status, 200)
    assert.equal((await gateway.as(tenant).chat({ ...asked, n: 4 })).status, 200)
  }
})

test('a limit that the client did not send never skips an upstream with room for the prompt', async () => {
  for (const tenant of ['rich', 'free']) {
    const heard = await gateway.as(tenant).chat({ model: 'either' })
    assert.equal(heard.headers['x-gw-upstream'], 'small')
  }
})

test('the reservation for an image counts what a model reads, not the bytes', async () => {
  const url = `data:image/png;base64,${'A'.repeat(3_000_000)}`
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ]
  const reserved = await reservedBy('pictures', { messages: [{ role: 'user', content }] })
  assert.ok(reserved > 16_384 && reserved < 40_000, `${reserved}`)
})
