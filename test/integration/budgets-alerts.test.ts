/** Alerts: a log line, a metric and a webhook, once for each threshold and window. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Front, failing, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import { keysOf, PRICES, startLimited, windowEnds } from './limits/limited-gateway.ts'

const [upstream, receiver] = await Promise.all([startUpstream(), startUpstream()])
const gateway = await startLimited(
  {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    rate_limits: { default: PLENTY },
    budgets: [
      { tenant: 'acme', tokens_per_day: 100, alert_thresholds: [0.5, 0.8, 0.95] },
      { tenant: 'money', spend_per_month_usd: 0.001, alert_thresholds: [0.1, 1] },
      { tenant: 'leap', tokens_per_day: 100, alert_thresholds: [0.2, 0.4, 0.9] },
      { tenant: 'storm', tokens_per_day: 10_000, alert_thresholds: [0.05] },
      { tenant: 'quiet', tokens_per_day: 10 },
      { tenant: 'later', tokens_per_day: 20, alert_thresholds: [0.5] },
    ],
    pricing: PRICES,
    alerts: { webhook_url: `${receiver.url}/hook`, headers: { 'X-Team': 'ml' } },
  },
  keysOf(['acme', 'money', 'leap', 'storm', 'quiet', 'later']),
)
after(() => Promise.all([gateway.stop(), upstream.close(), receiver.close()]))

function posted(tenant: string) {
  return receiver.asked.filter(({ body }) => body.tenant === tenant)
}

/** The log line is written a moment after the answer. */
async function logged(front: Front, tenant: string, count: number) {
  const lines = () => front.logged('budget_alert').filter((line) => line.tenant === tenant)
  await until(`${count} log lines of ${tenant}`, () => lines().length >= count)
  return lines()
}

async function postedBodies(tenant: string, count: number) {
  await until(`${count} alerts of ${tenant}`, () => posted(tenant).length >= count)
  return posted(tenant).map(({ body }) => body)
}

function alert(tenant: string, threshold: number, used: number, limit: number) {
  const resets_at = windowEnds().day
  return {
    type: 'budget_alert',
    tenant,
    window: 'day',
    kind: 'tokens',
    threshold,
    used,
    limit,
    resets_at,
  }
}

test('each threshold is reported once, by the request that reaches it', async () => {
  const front = gateway.as('acme')
  for (let asked = 0; asked < 10; asked++) await front.chat()
  const expected = [
    alert('acme', 0.5, 50, 100),
    alert('acme', 0.8, 80, 100),
    alert('acme', 0.95, 100, 100),
  ]
  assert.deepEqual(await postedBodies('acme', 3), expected)
  const [first] = posted('acme')
  assert.equal(first?.path, '/hook')
  assert.equal(first?.headers['content-type'], 'application/json')
  assert.equal(first?.headers['x-team'], 'ml')
  for (const threshold of [0.5, 0.8, 0.95]) {
    const labels = `tenant="acme",window="day",threshold="${threshold}"`
    assert.equal(await front.value(`gw_budget_alerts_total{${labels}}`), 1)
  }
  const lines = await logged(front, 'acme', 3)
  assert.deepEqual(
    lines.map(({ threshold, used, limit }) => ({ threshold, used, limit })),
    expected.map(({ threshold, used, limit }) => ({ threshold, used, limit })),
  )
  assert.equal(lines[0]?.level, 'warn')
})

test('alerts about money are in USD and about the month', async () => {
  const front = gateway.as('money')
  for (let asked = 0; asked < 8; asked++) await front.chat()
  const about = {
    type: 'budget_alert',
    tenant: 'money',
    window: 'month',
    kind: 'spend',
    limit: 0.001,
    resets_at: windowEnds().month,
  }
  assert.deepEqual(await postedBodies('money', 2), [
    { ...about, threshold: 0.1, used: 0.000_13 },
    { ...about, threshold: 1, used: 0.001_04 },
  ])
})

test('a request that passes several thresholds reports each of them', async () => {
  upstream.script.push(whole('long', { prompt_tokens: 50, completion_tokens: 45 }))
  await gateway.as('leap').chat()
  const bodies = await postedBodies('leap', 3)
  assert.deepEqual(
    bodies,
    [0.2, 0.4, 0.9].map((threshold) => alert('leap', threshold, 95, 100)),
  )
})

test('many requests that end at once report a threshold once', async () => {
  const front = gateway.as('storm')
  await Promise.all(Array.from({ length: 60 }, () => front.chat({ max_tokens: 3 })))
  await postedBodies('storm', 1)
  const labels = 'tenant="storm",window="day",threshold="0.05"'
  assert.equal(await front.value(`gw_budget_alerts_total{${labels}}`), 1)
  assert.equal((await logged(front, 'storm', 1)).length, 1)
  assert.equal(posted('storm').length, 1)
})

test('a failing receiver gets the same body again, and no request waits for it', async () => {
  receiver.script.push(failing(503))
  const front = gateway.as('later')
  assert.equal((await front.chat()).status, 200)
  const bodies = await postedBodies('later', 2)
  assert.deepEqual(bodies, [alert('later', 0.5, 10, 20), alert('later', 0.5, 10, 20)])
  assert.equal((await logged(front, 'later', 1)).length, 1)
})

test('a budget without thresholds sends no alerts', async () => {
  const front = gateway.as('quiet')
  for (let asked = 0; asked < 3; asked++) await front.chat()
  assert.equal(posted('quiet').length, 0)
  assert.equal(front.logged('budget_alert').filter(({ tenant }) => tenant === 'quiet').length, 0)
})
