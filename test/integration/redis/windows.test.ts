/** Windows that very many replicas have written: usage of ended replicas is kept in one sum. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aBudget, aRule } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'

const HOUR_MS = 3_600_000
/**
 * With `sum`, `base` and `born`, the number of fields that a window may have before it is folded.
 */
const CROWD = 125
const DAY = 'gw:v1:{acme}:day:2026-11-21'
const BUDGET = aBudget({ tokensPerDay: 1_000_000, nanosPerMonth: 1_000_000 })
const RULES = aRule({ budget: BUDGET })

const bench = aStoreBench()

const replica = (name: string) => bench.replica(name)

let requests = 0

async function use(store: RedisStore, count: number): Promise<void> {
  const hold = { tenant: 'acme', id: `r${++requests}`, used: { tokens: count, nanos: count } }
  await store.admit({ ...hold, rules: RULES, estimate: hold.used })
  await store.settle({ ...hold, budget: BUDGET })
}

/** Each has used one token. */
async function crowd(): Promise<RedisStore[]> {
  const stores = Array.from({ length: CROWD }, (_, index) => replica(`old${index}`))
  for (const store of stores) await use(store, 1)
  return stores
}

async function settled(store: RedisStore): Promise<unknown> {
  const { tokens: day, spend } = await store.read('acme', RULES)
  assert.equal(day?.settled, spend?.settled)
  return day?.settled
}

async function written(): Promise<string[]> {
  return (await bench.link.client.hkeys(DAY)).filter((field) => field.startsWith('r:')).toSorted()
}

test('usage of replicas that were silent for an hour is folded, and stays counted', async () => {
  await crowd()
  bench.clock.pass(HOUR_MS)
  const [late, next] = [replica('late'), replica('next')]
  await use(late, 10)
  assert.equal((await written()).length, CROWD + 1, 'an hour has not passed yet')
  bench.clock.pass(1)
  await use(next, 100)
  assert.deepEqual(await written(), ['r:late', 'r:next'])
  assert.deepEqual(await bench.link.client.hmget(DAY, 'sum', 'base'), ['235', '125'])
  assert.equal(await settled(late), CROWD + 110)
})

test('a window with few replicas keeps them all, regardless of their silence', async () => {
  const stores = (await crowd()).slice(0, 3)
  await bench.link.client.flushall()
  for (const store of stores) await use(store, 1)
  bench.clock.pass(5 * HOUR_MS)
  await use(replica('late'), 10)
  assert.equal((await written()).length, 4)
})

test('a replica whose total was folded continues from it, and its usage counts once', async () => {
  const [silent, ...others] = await crowd()
  assert.ok(silent)
  bench.clock.pass(HOUR_MS + 1)
  const next = replica('next')
  await use(next, 100)
  assert.deepEqual(await written(), ['r:next'])
  await use(silent, 5)
  assert.deepEqual(await written(), ['r:next', 'r:old0'])
  assert.deepEqual(await bench.link.client.hmget(DAY, 'sum', 'base'), ['230', '124'])
  await silent.renew([])
  for (const store of others) await store.renew([])
  assert.equal(await settled(next), CROWD + 105)
})

test('a live replica is not folded, and restores the whole window after a loss', async () => {
  const stores = await crowd()
  const living = stores.slice(0, 3)
  for (let passed = 0; passed < 2 * HOUR_MS; passed += HOUR_MS / 4) {
    bench.clock.pass(HOUR_MS / 4)
    for (const store of living) await store.renew([])
  }
  const next = replica('next')
  await use(next, 100)
  assert.deepEqual(await written(), ['r:next', 'r:old0', 'r:old1', 'r:old2'])
  await use(living[0] ?? next, 5)
  assert.deepEqual(await bench.link.client.hmget(DAY, 'sum', 'base'), ['230', '122'])
  await bench.link.client.flushall()
  for (const store of [next, ...living]) await store.renew([])
  assert.equal(await settled(next), CROWD + 105)
  await use(next, 1)
  await use(living[1] ?? next, 1)
  assert.equal(await settled(next), CROWD + 107)
})
