/** Requests that end in one turn of the event loop: one call settles them, and each is charged once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BudgetScope } from '../../../dataplane/accounts/store.ts'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aBudget, aRule, tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

const bench = aStoreBench()

const TENANT = 'acme'
const BUDGET = aBudget({ tokensPerDay: 100, alertThresholds: [0.5, 0.9] })
const RULES = aRule({ budget: BUDGET })
const IDS = ['a', 'b', 'c', 'd', 'e']

async function admitAll(store: RedisStore, rules = RULES): Promise<void> {
  for (const id of IDS) {
    const result = await store.admit({ tenant: TENANT, id, rules, estimate: tokens(1) })
    assert.equal(verdict(result), 'admitted')
  }
}

function settleAll(store: RedisStore, scoped = RULES.scoped) {
  return IDS.map((id) =>
    store.settle({ tenant: TENANT, id, used: tokens(10), budget: BUDGET, scoped }),
  )
}

test('one call settles requests that end together', async () => {
  const store = bench.replica('one')
  await admitAll(store)
  const before = bench.link.calls
  const settled = await Promise.all(settleAll(store))
  assert.equal(bench.link.calls - before, 1)
  assert.ok(settled.every(({ charged }) => charged))
  const { tokens: day, concurrency } = await store.read(TENANT, RULES)
  assert.deepEqual([day?.settled, concurrency.used], [50, 0])
})

test('each counter of several budgets is read once', async () => {
  const scope: BudgetScope = { kind: 'key', id: 'k1', name: 'k1' }
  const scoped = [{ scope, rule: BUDGET }]
  const rules = { ...RULES, scoped }
  const store = bench.replica('one')
  await admitAll(store, rules)
  const before = bench.link.calls
  await Promise.all(settleAll(store, scoped))
  assert.equal(bench.link.calls - before, 2)
  const figures = await store.read(TENANT, rules)
  assert.deepEqual([figures.tokens?.settled, figures.scoped?.[0]?.tokens?.settled], [50, 50])
})

test('an alert that they reach together is returned once, also when its answer was lost', async () => {
  let isLost = false
  const link: Link = {
    async run(...call) {
      const reply = await bench.link.run(...call)
      if (isLost) throw new StoreAway('timeout', true)
      return reply
    },
  }
  const store = aStore(link, { clock: bench.clock })
  await admitAll(store)
  isLost = true
  const lost = await Promise.allSettled(settleAll(store))
  assert.ok(lost.every(({ status }) => status === 'rejected'))
  isLost = false
  const crossed = []
  for (const settlement of settleAll(store)) crossed.push(...(await settlement).crossed)
  assert.deepEqual(
    crossed.map(({ threshold, used }) => [threshold, used]),
    [[0.5, 50]],
  )
  const { tokens: day } = await store.read(TENANT, RULES)
  assert.equal(day?.settled, 50)
})

test('their slots are free for the next request', async () => {
  const store = bench.replica('one')
  await admitAll(store)
  await Promise.all(settleAll(store))
  const rules = { ...RULES, concurrentRequests: 1 }
  const next = await store.admit({ tenant: TENANT, id: 'f', rules, estimate: tokens(1) })
  assert.equal(verdict(next), 'admitted')
})
