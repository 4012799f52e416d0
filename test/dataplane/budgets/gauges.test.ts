/** What a scrape asks of a store that costs a round trip. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { showBudgetsAtScrapes } from '../../../dataplane/budgets/gauges.ts'
import { InfraCost } from '../../../dataplane/budgets/infra-cost.ts'
import type { Gateway } from '../../../dataplane/gateway.ts'
import { createMetrics, createRegistry } from '../../../dataplane/telemetry/metrics.ts'
import { aBudget, aClock, aRule, NOON, World } from '../store/world.ts'

/** Nobody else's reads get through while more are under way. */
const AT_A_TIME_MAX = 32

test('a scrape tells every budget, and never asks for more than a few at a time', async () => {
  const names = Array.from({ length: 500 }, (_, index) => `t${index}`)
  const clock = aClock()
  const { store } = new World(aRule())
  const rules = aRule({ budget: aBudget({ tokensPerDay: 1000 }) })
  let underWay = 0
  let most = 0
  const read = async (tenant: string) => {
    underWay++
    most = Math.max(most, underWay)
    await setImmediate()
    underWay--
    if (tenant === 't7') throw new Error('no answer')
    return store.read(tenant, rules)
  }
  const metrics = createMetrics()
  const section = { budgets: names.map((tenant) => ({ tenant, tokens_per_day: 1000 })) }
  const gateway = {
    active: { snapshot: { section, limits: { rules: { of: () => rules } } } },
    clock,
    infra: new InfraCost(NOON),
    metrics,
    store: { read },
  }
  // Of a whole gateway only these are looked at.
  showBudgetsAtScrapes(gateway as unknown as Gateway)
  const text = await createRegistry(metrics).metrics()
  const told = names.filter((name) => text.includes(`tenant="${name}",window="day"} 0`))
  assert.equal(told.length, names.length - 1, 'all but the one without an answer')
  assert.ok(most <= AT_A_TIME_MAX, `${most} at a time`)
})
