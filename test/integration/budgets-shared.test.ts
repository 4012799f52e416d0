/**
 * Budgets other than those of tenants: one shared by several tenants, one of a key, and one for
 * each tenant.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { Front, startUpstream } from '../helpers/fake-upstream.ts'
import { PLENTY, startGateway } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import {
  ANSWER_TOKENS,
  assertSpent,
  limitedDocument,
  limitHeaders,
  PRICES,
  standing,
  windowEnds,
} from './limits/limited-gateway.ts'

const [upstream, receiver] = await Promise.all([startUpstream(), startUpstream()])

const IDS = ['a', 'b', 'c', 'd', 'e-dear', 'e-plain', 'f', 'own']
const keys = IDS.map((id) => ({
  id,
  ...aKey({ id, tenant: id.split('-')[0] ?? id, routes: ['*'] }),
}))
const downgrade = { on_exceeded: 'downgrade', downgrade_route: 'cheap' }

const config = limitedDocument(
  {
    upstreams: [
      { name: 'up', endpoint: upstream.url },
      { name: 'small', endpoint: upstream.url, model: 'small' },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'cheap', strategy: 'single', primary: 'small' },
    ],
    rate_limits: { default: PLENTY },
    budgets: [
      {
        tenants: ['a', 'b'],
        name: 'research',
        tokens_per_day: 2 * ANSWER_TOKENS,
        alert_thresholds: [0.5],
      },
      { tenants: ['c', 'd'], tokens_per_day: ANSWER_TOKENS },
      { tenant: 'd', tokens_per_day: 1000 },
      { key: 'e-dear', tokens_per_day: ANSWER_TOKENS },
      { key: 'f', tokens_per_day: ANSWER_TOKENS, ...downgrade },
      { tenant: '*', tokens_per_day: 500 },
      { tenant: 'own', spend_per_month_usd: 5 },
    ],
    pricing: [...PRICES, { model: 'small', input: 1, output: 2 }],
    alerts: { webhook_url: `${receiver.url}/hook` },
  },
  { records: keys.map(({ record }) => record), byTenant: new Map() },
)
const gateway = await startGateway({ config, env: { UPSTREAM_KEY: 'upstream-credential' } })
after(() => Promise.all([gateway.stop(), upstream.close(), receiver.close()]))

function as(id: string): Front {
  return new Front(gateway, keys.find((one) => one.id === id)?.key ?? 'unknown')
}

test('tenants of a group spend one budget together, and the refusal names it', async () => {
  assert.equal((await as('a').chat()).status, 200)
  const second = await as('b').chat()
  assert.equal(second.status, 200)
  assert.equal(
    limitHeaders(second)['budget-tokens-remaining'],
    String(ANSWER_TOKENS),
    'the smallest remainder',
  )
  const error = assertSpent(await as('a').chat(), 'budget_tokens')
  assert.match(error.message, /The 20 tokens of this day that group "research" shares are used\./)
  assert.deepEqual([error.budget, error.budget_name, error.used], ['group', 'research', 20])
  assertSpent(await as('b').chat(), 'budget_tokens')
})

test('an unnamed group does not reveal the other tenants', async () => {
  assert.equal((await as('c').chat()).status, 200)
  const error = assertSpent(await as('d').chat(), 'budget_tokens')
  assert.match(error.message, /that several tenants share are used/)
  assert.deepEqual([error.budget, error.budget_name], ['group', undefined])
})

test('the budget of a key does not affect other keys of its tenant', async () => {
  assert.equal((await as('e-dear').chat()).status, 200)
  const error = assertSpent(await as('e-dear').chat(), 'budget_tokens')
  assert.match(error.message, /of this day of key "e-dear" are used/)
  assert.deepEqual([error.budget, error.budget_name], ['key', 'e-dear'])
  const other = await as('e-plain').chat()
  assert.equal(other.status, 200)
  assert.equal(limitHeaders(other)['budget-tokens-remaining'], String(500 - ANSWER_TOKENS))
})

test('a spent budget of a key uses its downgrade route', async () => {
  assert.equal((await as('f').chat()).headers['x-gw-route'], 'chat')
  const answer = await as('f').chat()
  assert.deepEqual([answer.status, answer.headers['x-gw-route']], [200, 'cheap'])
})

test('each tenant without a budget gets the budget for each tenant', async () => {
  const own = limitHeaders(await as('own').chat())
  assert.equal(own['budget-tokens-remaining'], undefined)
  assert.notEqual(own['budget-spend-remaining-usd'], undefined)
  const { tokens_per_day } = await standing(as('c'), 'c')
  assert.deepEqual([tokens_per_day.limit, tokens_per_day.used], [500, ANSWER_TOKENS])
})

test('limits, metrics, alerts and explain show every budget', async () => {
  const front = as('a')
  const limits = await standing(front, 'a')
  assert.deepEqual(limits['group:research tokens_per_day'], {
    window: 'day',
    limit: 20,
    used: 20,
    reserved: 0,
    remaining: 0,
    resets_at: windowEnds().day,
  })
  const ofKeys = await standing(front, 'e')
  assert.equal(ofKeys['key:e-dear tokens_per_day'].used, ANSWER_TOKENS)
  const series = await front.series()
  assert.equal(series.get('gw_scoped_budget_tokens_used{budget="group:research",window="day"}'), 20)
  assert.equal(series.get('gw_scoped_budget_tokens_used{budget="key:e-dear",window="day"}'), 10)
  assert.equal(series.get('gw_budget_tokens_used{tenant="c",window="day"}'), ANSWER_TOKENS)
  await until('the webhook received the group', () => receiver.asked.length > 0)
  const { tenant, group, threshold, used } = receiver.asked[0]?.body ?? {}
  assert.deepEqual([tenant, group, threshold, used], ['a', 'research', 0.5, 10])
  const reached = 'budget="group:research",window="day",threshold="0.5"'
  assert.equal(series.get(`gw_scoped_budget_alerts_total{${reached}}`), 1)
})
