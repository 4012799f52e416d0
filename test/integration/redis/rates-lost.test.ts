/** Rates after a store has lost its data: each replica pours again what it had poured, once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Link } from '../../../dataplane/store/redis/link.ts'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aRule, tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

const bench = aStoreBench()

const BURST = 20
const RULES = aRule({ requestsPerMinute: 1, burst: BURST, tokensPerMinute: 1_000 })
const TOKENS = 10

let ids = 0

function admit(store: RedisStore) {
  const id = `r${ids++}`
  const request = { tenant: 'acme', id, rules: RULES, estimate: tokens(TOKENS) }
  return Promise.resolve(store.admit(request)).then((made) => ({ id, made }))
}

async function use(store: RedisStore, count: number): Promise<void> {
  for (let used = 0; used < count; used++) {
    const { id, made } = await admit(store)
    assert.equal(verdict(made), 'admitted')
    await store.settle({ tenant: 'acme', id, used: tokens(TOKENS), budget: undefined })
  }
}

/** Asks until the bucket is full. */
async function admitted(store: RedisStore): Promise<number> {
  let count = 0
  while (verdict((await admit(store)).made) === 'admitted') count++
  return count
}

test('after FLUSHALL replicas admit what was left of a rate, and no request more', async () => {
  const [one, two] = [bench.replica('one'), bench.replica('two')]
  await use(one, 7)
  await use(two, 5)
  await bench.link.client.flushall()
  assert.equal(verdict((await admit(one)).made), 'admitted')
  const { tokenRate } = (await admit(two)).made.figures
  assert.equal(tokenRate?.remaining, 1_000 - 14 * TOKENS)
  assert.equal(await admitted(one), BURST - 14)
})

test('a rate that was lost twice is restored twice', async () => {
  const [one, two] = [bench.replica('one'), bench.replica('two')]
  for (let flushes = 0; flushes < 2; flushes++) {
    await use(one, 3)
    await use(two, 3)
    await bench.link.client.flushall()
  }
  await use(two, 1)
  assert.equal(await admitted(one), BURST - 13)
})

test('a repair whose answer got lost pours once', async () => {
  let isLosing = false
  const link: Link = {
    async run(script, ...call) {
      const reply = await atTime(bench.link, bench.clock.wall).run(script, ...call)
      if (script.name !== 'heal' || !isLosing) return reply
      isLosing = false
      throw new Error('The answer is lost.')
    },
  }
  const store = aStore(link, { replica: 'one', clock: bench.clock })
  await use(store, 6)
  await bench.link.client.flushall()
  isLosing = true
  await assert.rejects(admit(store))
  assert.equal(await admitted(store), BURST - 6)
})

test('an admission from before the loss counts, also if its answer comes together with the one that shows the loss', async () => {
  let isHolding = false
  const held: (() => void)[] = []
  const link: Link = {
    async run(...call) {
      const reply = await atTime(bench.link, bench.clock.wall).run(...call)
      if (isHolding) await new Promise<void>((resolve) => held.push(resolve))
      return reply
    },
  }
  const store = aStore(link, { replica: 'one', clock: bench.clock })
  await use(store, 1)
  isHolding = true
  const before = admit(store)
  while (held.length < 1) await new Promise(setImmediate)
  await bench.link.client.flushall()
  const behind = admit(store)
  while (held.length < 2) await new Promise(setImmediate)
  isHolding = false
  for (const answer of held) answer()
  const made = await Promise.all([before, behind])
  assert.deepEqual(
    made.map((one) => verdict(one.made)),
    ['admitted', 'admitted'],
  )
  assert.equal(await admitted(store), BURST - 3)
})

test('a window that was lost alone pours nothing again', async () => {
  const store = bench.replica('one')
  await use(store, 6)
  await bench.link.client.del('gw:v1:{acme}:day:2026-11-21', 'gw:v1:{acme}:month:2026-11')
  assert.equal(await admitted(store), BURST - 6)
})

test('a beat of running requests before any repair keeps the way open for rates', async () => {
  const [one, two] = [bench.replica('one'), bench.replica('two')]
  await use(one, 3)
  await use(two, 4)
  const { id } = await admit(one)
  await bench.link.client.flushall()
  await one.renew([{ tenant: 'acme', id, used: tokens(1) }])
  assert.equal(verdict((await admit(two)).made), 'admitted')
  assert.equal(await admitted(one), BURST - 9)
})
