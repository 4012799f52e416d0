/** The reads of a scrape from a store that costs a round trip. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as onceMore } from 'node:timers'
import { setImmediate } from 'node:timers/promises'
import { InfraCost } from '../../../dataplane/accounts/infra-cost.ts'
import type { Gateway } from '../../../dataplane/gateway/gateway.ts'
import { showBudgetsAtScrapes } from '../../../dataplane/limits/gauges.ts'
import { createMetrics, createRegistry } from '../../../dataplane/telemetry/metrics.ts'
import { aClock, NOON } from '../../helpers/clock.ts'
import { aBudget, aRule, World } from '../../helpers/store/world.ts'

/** No further reads are answered while this many are running. */
const AT_A_TIME_MAX = 32

interface Asked {
  readonly names: readonly string[]
  read(tenant: string): unknown
}

/** Renders the metrics of a gateway with a budget for each name, and no more than a scrape reads. */
async function scrape({ names, read }: Asked): Promise<string> {
  const metrics = createMetrics()
  const budget = { tokens_per_day: 1000, alert_thresholds: [0.8] }
  const section = { budgets: names.map((tenant) => ({ tenant, ...budget })), limits: [] }
  const gateway = {
    active: { snapshot: { section, limits: { rules: { of: () => RULES } } } },
    clock: aClock(),
    infra: new InfraCost(NOON),
    metrics,
    store: { read },
  }
  // The gauges use only these parts of a gateway.
  showBudgetsAtScrapes(gateway as unknown as Gateway)
  return await createRegistry(metrics).metrics()
}

const RULES = aRule({ budget: aBudget({ tokensPerDay: 1000 }) })

test('a scrape reads every budget, and only a few at a time', async () => {
  const names = Array.from({ length: 500 }, (_, index) => `t${index}`)
  const { store } = new World(aRule())
  let underWay = 0
  let most = 0
  const read = async (tenant: string) => {
    underWay++
    most = Math.max(most, underWay)
    await setImmediate()
    underWay--
    if (tenant === 't7') throw new Error('no answer')
    return store.read(tenant, RULES)
  }
  const text = await scrape({ names, read })
  const shown = names.filter((name) => text.includes(`tenant="${name}",window="day"} 0`))
  assert.equal(shown.length, names.length - 1, 'all but the one without an answer')
  const alerts = text.match(
    /^gw_budget_alerts_total\{tenant="t\d+",window="day",threshold="0.8"\} 0$/gm,
  )
  assert.equal(alerts?.length, names.length, 'thresholds have series before they are reached')
  assert.ok(most <= AT_A_TIME_MAX, `${most} at a time`)
})

test('a scrape of thousands of budgets lets requests run in between', async () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `t${index}`)
  const { store } = new World(aRule())
  let asked = 0
  let most = 0
  let isOver = false
  const serve = () => {
    most = Math.max(most, asked)
    asked = 0
    if (!isOver) onceMore(serve)
  }
  onceMore(serve)
  const read = (tenant: string) => {
    asked++
    return store.read(tenant, RULES)
  }
  await scrape({ names, read })
  await setImmediate()
  isOver = true
  assert.ok(most <= 1_000, `${most} read without a pause`)
})
