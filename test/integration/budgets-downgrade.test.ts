/**
 * A spent budget that downgrades: which requests the other route serves, and when the answer is
 * still 402.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { failing, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import {
  ANSWER_TOKENS,
  assertSpent,
  keysOf,
  limitHeaders,
  PRICES,
  standing,
  startLimited,
} from './limits/limited-gateway.ts'

const [dear, cheap] = await Promise.all([startUpstream(), startUpstream()])
const downgrade = { on_exceeded: 'downgrade', downgrade_route: 'cheap' }
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'dear', endpoint: dear.url },
      { name: 'cheap', endpoint: cheap.url, model: 'small', context_window: 1000 },
      { name: 'frail', endpoint: cheap.url, circuit_breaker: { failure_threshold: 1 } },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'dear' },
      { name: 'cheap', strategy: 'single', primary: 'cheap' },
      { name: 'frail', strategy: 'single', primary: 'frail' },
    ],
    aliases: { 'gpt-4o': 'chat' },
    rate_limits: { default: PLENTY, tenants: [{ tenant: 'rated', ...PLENTY, burst: 3 }] },
    budgets: [
      { tenant: 'acme', spend_per_month_usd: 0.000_1, ...downgrade },
      { tenant: 'daily', tokens_per_day: ANSWER_TOKENS, ...downgrade },
      { tenant: 'rated', tokens_per_day: ANSWER_TOKENS, ...downgrade },
      { tenant: 'frail', tokens_per_day: ANSWER_TOKENS, ...downgrade, downgrade_route: 'frail' },
      { tenant: 'long', tokens_per_day: 1_000_000, ...downgrade },
      { tenant: 'late', tokens_per_day: ANSWER_TOKENS, ...downgrade },
    ],
    pricing: [...PRICES, { model: 'small', input: 1, output: 2 }],
  },
  keysOf(['acme', 'daily', 'rated', 'frail', 'long', 'late', 'other'], {
    acme: ['chat'],
    rated: ['chat'],
  }),
)
after(() => Promise.all([gateway.stop(), dear.close(), cheap.close()]))

beforeEach(() => {
  dear.asked.length = 0
  cheap.asked.length = 0
})

/** Too long for the window of the downgrade route. */
const LONG = { messages: [{ role: 'user', content: 'word '.repeat(2000) }] }

test('the downgrade route serves a tenant that has spent its budget, even if its key does not allow that route', async () => {
  const front = gateway.as('acme')
  assert.equal((await front.chat()).headers['x-gw-route'], 'chat')
  assert.equal((await front.chat({ model: 'cheap' })).status, 403)
  const answer = await front.chat()
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-gw-route'], 'cheap')
  assert.equal(answer.headers['x-gw-upstream'], 'cheap')
  assert.equal(limitHeaders(answer)['budget-spend-remaining-usd'], '0')
  assert.deepEqual([dear.asked.length, cheap.asked.length], [1, 1])
  assert.equal(cheap.asked[0]?.body.model, 'small')
  const series = await front.series()
  assert.equal(series.get('gw_budget_downgrades_total{tenant="acme",route="cheap"}'), 1)
})

test('streams and aliases are downgraded as well', async () => {
  const front = gateway.as('acme')
  cheap.script.push(streaming())
  assert.equal((await front.stream()).headers['x-gw-route'], 'cheap')
  assert.equal((await front.chat({ model: 'gpt-4o' })).headers['x-gw-route'], 'cheap')
})

test("usage of the downgrade route is counted at its model's price, and not limited", async () => {
  const front = gateway.as('acme')
  const before = await standing(front, 'acme')
  for (let asked = 0; asked < 5; asked++) assert.equal((await front.chat()).status, 200)
  const later = await standing(front, 'acme')
  const [used, usedBefore] = [later, before].map((one) => Number(one.spend_per_month_usd.used))
  // Seven tokens at 1 USD and three at 2 USD per million, five times.
  assert.equal(Math.round((Number(used) - Number(usedBefore)) * 1e9), 5 * 13_000)
})

test('a request for the downgrade route itself is served by it', async () => {
  const front = gateway.as('daily')
  await front.chat()
  const answer = await front.chat({ model: 'cheap' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-gw-route'], 'cheap')
})

test('nothing is downgraded before the budget is spent', async () => {
  const front = gateway.as('long')
  assert.equal((await front.chat()).headers['x-gw-route'], 'chat')
  const heard = await front.chat({ ...LONG, max_tokens: 5 })
  assert.equal(heard.status, 200, heard.text)
  assert.equal(heard.headers['x-gw-route'], 'chat')
})

test('a tenant without budget gets 402 if its prompt does not fit the downgrade route', async () => {
  const front = gateway.as('late')
  await front.chat()
  assertSpent(await front.chat({ ...LONG, max_tokens: 5 }), 'budget_tokens')
  assert.equal((await front.chat()).headers['x-gw-route'], 'cheap')
})

test('the downgrade route enforces the rate too', async () => {
  const front = gateway.as('rated')
  const routes = []
  for (let asked = 0; asked < 3; asked++) routes.push((await front.chat()).headers['x-gw-route'])
  assert.deepEqual(routes, ['chat', 'cheap', 'cheap'])
})

test('402 while the downgrade route has no available upstream', async () => {
  const front = gateway.as('frail')
  await front.chat()
  assert.equal((await front.chat()).headers['x-gw-route'], 'frail')
  cheap.script.push(failing(500))
  assert.equal((await gateway.as('other').chat({ model: 'frail' })).status, 502)
  const error = assertSpent(await front.chat(), 'budget_tokens')
  assert.match(error.message, /downgrade route has no eligible upstream/)
})
