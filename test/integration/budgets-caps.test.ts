/**
 * Budget caps: 402 once a cap is reached, 429 while only reservations fill it, and an overshoot of
 * at most one request.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import {
  type Asked,
  after as afterwards,
  errorOf,
  type Front,
  type Reply,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { aRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import {
  ANSWER_TOKENS,
  ANSWER_USD,
  assertLimited,
  assertSpent,
  keysOf,
  limitHeaders,
  PRICES,
  standing,
  startLimited,
  untilIdle,
  windowEnds,
} from './limits/limited-gateway.ts'

const IN_FLIGHT = [16, 64, 256]
/** The most tokens that a request below asks for. */
const ANSWER_MAX = 1000
/** About two hundred requests, fewer than the highest number in flight. */
const TOKENS_CAP = 100_000
const USD_CAP = 2

const upstream = await startUpstream()
const gateway = await startLimited(
  {
    upstreams: [{ name: 'up', endpoint: upstream.url, timeout_seconds: 100 }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    rate_limits: { default: PLENTY },
    budgets: [
      { tenant: 'tokens', tokens_per_day: ANSWER_TOKENS + 1 },
      { tenant: 'money', spend_per_month_usd: ANSWER_USD },
      { tenant: 'both', tokens_per_day: ANSWER_TOKENS, spend_per_month_usd: ANSWER_USD },
      { tenant: 'promised', tokens_per_day: 5000 },
      { tenant: 'lent', spend_per_month_usd: 0.01 },
      { tenant: 'spare', tokens_per_day: ANSWER_TOKENS },
      ...IN_FLIGHT.map((count) => ({ tenant: `t${count}`, tokens_per_day: TOKENS_CAP })),
      ...IN_FLIGHT.map((count) => ({ tenant: `s${count}`, spend_per_month_usd: USD_CAP })),
    ],
    pricing: PRICES,
  },
  keysOf([
    'tokens',
    'money',
    'both',
    'promised',
    'lent',
    'spare',
    ...IN_FLIGHT.flatMap((count) => [`t${count}`, `s${count}`]),
  ]),
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

test('402 starts once settled usage reaches the token cap, and names the end of the window', async () => {
  const front = gateway.as('tokens')
  assert.equal((await front.chat()).status, 200)
  // One token is left, so one more request is admitted: this is the overshoot.
  assert.equal(limitHeaders(await front.chat())['budget-tokens-remaining'], '1')
  const asked = upstream.asked.length
  const refused = await front.chat()
  const error = assertSpent(refused, 'budget_tokens')
  assert.deepEqual(
    [error.limited_by, error.limit, error.used, error.reserved, error.resets_at],
    ['tokens_per_day', ANSWER_TOKENS + 1, 2 * ANSWER_TOKENS, 0, windowEnds().day],
  )
  assert.match(error.message, /tokens_per_day raised/)
  assert.equal(upstream.asked.length, asked, 'no request reached the upstream')
})

test('402 starts once settled usage reaches the money cap', async () => {
  const front = gateway.as('money')
  assert.equal((await front.chat()).status, 200)
  const error = assertSpent(await front.chat(), 'budget_spend')
  assert.deepEqual(
    [error.limited_by, error.limit, error.used, error.resets_at],
    ['spend_per_month_usd', ANSWER_USD, ANSWER_USD, windowEnds().month],
  )
  assert.match((await front.stream()).text, /ERR_GW_BUDGET_EXCEEDED/)
})

test('if two budgets are spent, the refusal names the one that lasts longer', async () => {
  const front = gateway.as('both')
  assert.equal((await front.chat()).status, 200)
  const { day, month } = windowEnds()
  const reason = day === month ? 'budget_tokens' : 'budget_spend'
  assert.equal(assertSpent(await front.chat(), reason).resets_at, month)
})

test('a spent budget does not stop other tenants, and a refusal takes nothing from a rate bucket', async () => {
  const front = gateway.as('spare')
  await front.chat()
  const [{ requests_per_minute: before }] = [await standing(front, 'spare')]
  for (let refusals = 0; refusals < 10; refusals++) {
    assertSpent(await front.chat(), 'budget_tokens')
  }
  const { requests_per_minute: later, concurrent_requests } = await standing(front, 'spare')
  assert.ok(later.remaining >= before.remaining)
  assert.equal(concurrent_requests.used, 0)
  assert.equal((await gateway.as('promised').chat({ max_tokens: 1 })).status, 200)
})

for (const [tenant, limitedBy] of [
  ['promised', 'tokens_per_day'],
  ['lent', 'spend_per_month_usd'],
] as const) {
  test(`429 while only reservations fill ${limitedBy}, and admission once they are settled`, async () => {
    const front = gateway.as(tenant)
    const { promise: release, resolve } = Promise.withResolvers<void>()
    upstream.script.push(afterwards(release, whole()))
    const asked = upstream.asked.length
    const running = front.chat({ max_tokens: 5000 })
    await until('the upstream has the request', () => upstream.asked.length > asked)
    const refused = await front.chat({ max_tokens: 1 })
    const error = assertLimited(refused, 'budget_reserved')
    assert.equal(error.limited_by, limitedBy)
    assert.ok(error.used < error.limit && error.used + error.reserved >= error.limit)
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(refused.headers['x-should-retry'], undefined)
    resolve()
    assert.equal((await running).status, 200)
    assert.equal((await front.chat({ max_tokens: 1 })).status, 200)
    const series = await front.series()
    const name = `gw_ratelimit_rejected_total{tenant="${tenant}",reason="budget_reserved"}`
    assert.equal(series.get(name), 1)
  })
}

/** Uses some or all of the requested tokens, after a random delay. */
function worker(random: (bound: number) => number, used: (tokens: number) => void): Reply {
  return async (outgoing, asked: Asked) => {
    const completion = 1 + random(Number(asked.body.max_tokens))
    await new Promise((resolve) => setTimeout(resolve, random(30)))
    used(7 + completion)
    const usage = { prompt_tokens: 7, completion_tokens: completion }
    await whole('x', usage)(outgoing, asked)
  }
}

/**
 * Keeps this many requests in flight until the budget is spent; a request refused because of
 * reservations is sent again after another one ends.
 */
async function storm(front: Front, inFlight: number, random: (bound: number) => number) {
  const statuses = { 200: 0, 402: 0, 429: 0 }
  let ended = Promise.withResolvers<void>()
  const client = async () => {
    for (;;) {
      const next = ended.promise
      const answer = await front.chat({ max_tokens: 1 + random(ANSWER_MAX) })
      assert.ok(
        answer.status === 200 || answer.status === 402 || answer.status === 429,
        answer.text,
      )
      statuses[answer.status]++
      if (answer.status === 402) return
      if (answer.status === 429) {
        assert.equal(errorOf(answer).reason, 'budget_reserved')
        await next
        continue
      }
      ended.resolve()
      ended = Promise.withResolvers()
    }
  }
  const clients = Array.from({ length: inFlight }, client)
  await Promise.race(clients)
  // A client that waits for an end that never comes finds the spent budget.
  ended.resolve()
  await Promise.all(clients)
  return statuses
}

describe('the overshoot is at most one request, and the utilisation above 95 %', () => {
  for (const inFlight of IN_FLIGHT) {
    for (const kind of ['tokens', 'spend'] as const) {
      test(`${inFlight} in flight on a budget of ${kind}`, async (context) => {
        const tenant = `${kind[0]}${inFlight}`
        const front = gateway.as(tenant)
        const random = aRandom(inFlight)
        let largest = 0
        let sum = 0
        upstream.reply = worker(random, (tokens) => {
          largest = Math.max(largest, tokens)
          sum += tokens
        })
        const statuses = await storm(front, inFlight, random)
        upstream.reply = whole()
        await untilIdle(front, tenant)
        const stands = await standing(front, tenant)
        const [used, cap, one] =
          kind === 'tokens'
            ? [stands.tokens_per_day.used, TOKENS_CAP, largest]
            : [Number(stands.spend_per_month_usd.used), USD_CAP, largest * 20e-6]
        if (kind === 'tokens') assert.equal(used, sum)
        const share = `${((100 * used) / cap).toFixed(2)} %`
        context.diagnostic(`${JSON.stringify(statuses)}, ${share} used, one is ${one}`)
        assert.ok(used >= cap * 0.95 && used < cap + one, `${used} of ${cap}, one is ${one}`)
      })
    }
  }
})
