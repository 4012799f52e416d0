/**
 * Limits, budgets and prices that change while the gateway runs: they apply from the next request,
 * and nothing is refilled or lost.
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { stringify } from 'yaml'
import { after as afterwards, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import {
  ANSWER_TOKENS,
  assertLimited,
  assertSpent,
  keysOf,
  limitedDocument,
  limitHeaders,
  PRICES,
  standing,
  startLimited,
  untilIdle,
} from './limits/limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

const TENANTS = [
  'raised',
  'lowered',
  'capped',
  'opened',
  'added',
  'priced',
  'flying',
  'free',
  'slots',
]
const keys = keysOf(TENANTS)
const upstream = await startUpstream()

function sectionOf(sections: Fields = {}) {
  return {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    rate_limits: rates(),
    pricing: PRICES,
    ...sections,
  }
}

/** The default admits everything; each test gives its tenant a rule. */
function rates(...tenants: readonly Fields[]) {
  return { default: PLENTY, tenants }
}

const gateway = await startLimited(sectionOf(), keys)
after(() => Promise.all([gateway.stop(), upstream.close()]))
afterEach(() => apply())

async function apply(sections: Fields = {}): Promise<void> {
  const { adminUrl, adminHeaders: headers } = gateway.as('free').process
  const body = stringify(limitedDocument(sectionOf(sections), keys))
  const answer = await fetch(`${adminUrl}/config`, { method: 'PUT', headers, body })
  assert.equal(answer.status, 200, await answer.text())
}

const SLOW = { requests_per_minute: 1, concurrent_requests: 100 }

test('a lowered rate applies from the next request', async () => {
  const front = gateway.as('lowered')
  // At the old rate all of these leak within a moment, except the last one.
  for (let asked = 0; asked < 5; asked++) assert.equal((await front.chat()).status, 200)
  await apply({ rate_limits: rates({ tenant: 'lowered', ...SLOW, burst: 3 }) })
  const answer = await front.chat()
  assert.equal(answer.status, 200)
  assert.equal(limitHeaders(answer)['ratelimit-limit'], '1')
  assert.equal((await front.chat()).status, 200)
  assertLimited(await front.chat(), 'rpm')
})

test('a raised rate does not refill: earlier usage stays counted', async () => {
  const front = gateway.as('raised')
  await apply({ rate_limits: rates({ tenant: 'raised', ...SLOW, burst: 4 }) })
  for (let asked = 0; asked < 4; asked++) assert.equal((await front.chat()).status, 200)
  assertLimited(await front.chat(), 'rpm')
  // Changing the rate back and forth must not help either.
  for (let turns = 0; turns < 3; turns++) {
    await apply({ rate_limits: rates({ tenant: 'raised', ...SLOW, burst: 2 }) })
    assertLimited(await front.chat(), 'rpm')
    await apply({ rate_limits: rates({ tenant: 'raised', ...SLOW, burst: 4 }) })
  }
  await apply({ rate_limits: rates({ tenant: 'raised', ...SLOW, burst: 6 }) })
  const statuses = []
  for (let asked = 0; asked < 5; asked++) statuses.push((await front.chat()).status)
  // The smaller bucket was just full, so the larger one has this much room left.
  assert.deepEqual(statuses, [200, 200, 200, 200, 429])
})

test('a lower number of slots counts the running requests and ends none', async () => {
  const front = gateway.as('slots')
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()), afterwards(release, whole()))
  const running = [front.chat(), front.chat()]
  await until('both run', async () => {
    return (await standing(front, 'slots')).concurrent_requests.used === 2
  })
  await apply({ rate_limits: rates({ tenant: 'slots', ...PLENTY, concurrent_requests: 1 }) })
  const error = assertLimited(await front.chat(), 'concurrency')
  assert.deepEqual([error.limit, error.used], [1, 2])
  resolve()
  for (const one of running) assert.equal((await one).status, 200)
  await untilIdle(front, 'slots')
  assert.equal((await front.chat()).status, 200)
})

test('a lowered cap refuses at once, a raised one admits at once, and usage is kept', async () => {
  const front = gateway.as('capped')
  await apply({ budgets: [{ tenant: 'capped', tokens_per_day: 1000 }] })
  for (let asked = 0; asked < 3; asked++) await front.chat()
  await apply({ budgets: [{ tenant: 'capped', tokens_per_day: 3 * ANSWER_TOKENS }] })
  const error = assertSpent(await front.chat(), 'budget_tokens')
  assert.deepEqual([error.limit, error.used], [30, 30])
  await apply({ budgets: [{ tenant: 'capped', tokens_per_day: 31 }] })
  const answer = await front.chat()
  assert.equal(answer.status, 200)
  assert.equal(limitHeaders(answer)['budget-tokens-remaining'], '1')
})

test('a budget added during a window counts earlier usage', async () => {
  const front = gateway.as('added')
  for (let asked = 0; asked < 3; asked++) await front.chat()
  await apply({ budgets: [{ tenant: 'added', tokens_per_day: 1000, spend_per_month_usd: 1 }] })
  const { tokens_per_day, spend_per_month_usd } = await standing(front, 'added')
  assert.equal(tokens_per_day.used, 3 * ANSWER_TOKENS)
  assert.equal(spend_per_month_usd.used, '0.00039')
})

test('a removed budget refuses no request and appears in no answer', async () => {
  const front = gateway.as('opened')
  await apply({ budgets: [{ tenant: 'opened', tokens_per_day: ANSWER_TOKENS }] })
  await front.chat()
  assertSpent(await front.chat(), 'budget_tokens')
  const gauge = 'gw_budget_tokens_used{tenant="opened",window="day"}'
  assert.equal((await front.series()).get(gauge), ANSWER_TOKENS)
  await apply()
  assert.equal((await front.series()).get(gauge), undefined)
  const answer = await front.chat()
  assert.equal(answer.status, 200)
  assert.equal(limitHeaders(answer)['budget-tokens-remaining'], undefined)
})

test('a new price applies from the next request', async () => {
  const front = gateway.as('priced')
  const budgets = [{ tenant: 'priced', spend_per_month_usd: 1 }]
  await apply({ budgets })
  await front.chat()
  await apply({ budgets, pricing: [{ model: 'served', input: 100, output: 200 }] })
  await front.chat()
  assert.equal((await standing(front, 'priced')).spend_per_month_usd.used, '0.00143')
})

test('a request in flight settles after a reload: its hold is released, and alerts use the new cap', async () => {
  const front = gateway.as('flying')
  const budget = { tenant: 'flying', tokens_per_day: 20, alert_thresholds: [0.5] }
  await apply({ budgets: [budget] })
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const asked = upstream.asked.length
  const running = front.chat()
  await until('the upstream has the request', () => upstream.asked.length > asked)
  assert.ok((await standing(front, 'flying')).tokens_per_day.reserved > 0)
  await apply({ budgets: [{ ...budget, tokens_per_day: 1000 }] })
  resolve()
  assert.equal((await running).status, 200)
  await untilIdle(front, 'flying')
  assert.equal((await standing(front, 'flying')).tokens_per_day.used, ANSWER_TOKENS)
  // Ten are half of the old cap, and almost nothing of the new one.
  const name = 'gw_budget_alerts_total{tenant="flying",window="day",threshold="0.5"}'
  assert.equal(await front.value(name), 0)
})

test('removed sections fall back to the defaults, and find earlier usage when they return', async () => {
  const front = gateway.as('free')
  const budgets = [{ tenant: 'free', tokens_per_day: 1000 }]
  await apply({ budgets })
  await front.chat()
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const asked = upstream.asked.length
  const running = front.chat()
  await until('the upstream has the request', () => upstream.asked.length > asked)
  await apply({ rate_limits: undefined })
  const { 'ratelimit-limit': limit, ...others } = limitHeaders(await front.chat())
  assert.equal(limit, '120')
  assert.deepEqual(Object.keys(others).sort(), ['ratelimit-remaining', 'ratelimit-reset'])
  resolve()
  await running
  await apply({ budgets })
  await untilIdle(front, 'free')
  assert.equal((await standing(front, 'free')).tokens_per_day.used, 3 * ANSWER_TOKENS)
})
