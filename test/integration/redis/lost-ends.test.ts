/** Ends that did not reach the store before their replica was killed: each request is charged once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LEASE_MS } from '../../../dataplane/accounts/store.ts'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, tokens } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

const bench = aStoreBench()

const BUDGET = aBudget({ tokensPerDay: 100, alertThresholds: [0.4] })
const RULES = aRule({ budget: BUDGET })
/** An end is late after this time. */
const LATE_MS = 200

/** A replica whose request `a` has reported 30 of its 40 tokens, and whose end of it is lost. */
async function losingAnEnd() {
  let isLosing = false
  const link: Link = {
    async run(script, ...call) {
      if (!isLosing) return await atTime(bench.link, bench.clock.wall).run(script, ...call)
      isLosing = false
      throw new StoreAway('timeout', true)
    },
  }
  const store = aStore(link, { replica: 'killed', clock: bench.clock })
  for (const id of ['a', 'b'])
    await store.admit({ tenant: 'acme', id, rules: RULES, estimate: tokens(50) })
  await store.renew([{ tenant: 'acme', id: 'a', used: tokens(30) }])
  isLosing = true
  await assert.rejects(async () => await end(store, 'a', 40), StoreAway)
  bench.clock.pass(LATE_MS)
  return store
}

function end(store: RedisStore, id: string, used: number) {
  return store.settle({ tenant: 'acme', id, used: tokens(used), budget: BUDGET })
}

/** The sum that another replica sees after the leases of a killed one have expired. */
async function settledLater(): Promise<number | undefined> {
  bench.clock.pass(LEASE_MS)
  const { tokens: day, concurrency } = await bench.replica('stays').read('acme', RULES)
  assert.deepEqual([day?.reserved, concurrency.used], [0, 0])
  return day?.settled
}

test('the next end brings it along', async () => {
  const killed = await losingAnEnd()
  await end(killed, 'b', 7)
  assert.equal(await settledLater(), 47)
})

test('a beat leaves its amount out, so that its lease is charged with what it reported', async () => {
  const killed = await losingAnEnd()
  await killed.renew([{ tenant: 'acme', id: 'b', used: tokens(7) }])
  assert.equal(await settledLater(), 37)
})

test('a replica that lives sends it again, charges it once, and returns its alert once', async () => {
  const store = await losingAnEnd()
  const settlements = [await end(store, 'b', 7), await end(store, 'a', 40)]
  assert.deepEqual(
    settlements.flatMap(({ crossed }) => crossed.map(({ threshold, used }) => [threshold, used])),
    [[0.4, 47]],
  )
  assert.equal(await settledLater(), 47)
})
