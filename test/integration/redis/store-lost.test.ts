/** A store that loses answers, and a store that loses its data. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Amount, LEASE_MS, type Settlement } from '../../../dataplane/accounts/store.ts'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aClock, NOON } from '../../helpers/clock.ts'
import { recordResult } from '../../helpers/results.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

const bench = aStoreBench()

const BURST = 1_000
const BUDGET = aBudget({ tokensPerDay: 1_000_000, nanosPerMonth: 1_000_000 })
const RULES = aRule({ requestsPerMinute: 1, burst: BURST, budget: BUDGET })

/** A small random generator; a failure can name its seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

/** Loses some calls before and some answers after the server has received them. */
function unreliable(random: () => number, shares: { isReliable: boolean }): Link {
  return {
    async run(...call) {
      if (!shares.isReliable && random() < 0.1) throw new StoreAway('connection', false)
      const reply = await bench.link.run(...call)
      if (!shares.isReliable && random() < 0.3) throw new StoreAway('timeout', true)
      return reply
    },
  }
}

interface Expected {
  admitted: number
  tokens: number
  nanos: number
  readonly running: Map<string, RedisStore>
}

async function untilTaken(settle: () => Promise<Settlement>): Promise<Settlement> {
  for (;;) {
    try {
      return await settle()
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error
    }
  }
}

/** One step of a history: in the end the store must contain the intended result. */
async function step(
  store: RedisStore,
  { tenant, id, random }: { tenant: string; id: string; random: () => number },
  expected: Expected,
): Promise<void> {
  const choice = random()
  const [oldest] = expected.running
  if (choice < 0.5 || oldest === undefined) {
    try {
      const estimate = { tokens: 50, nanos: 500 }
      const result = await store.admit({ tenant, id, rules: RULES, estimate })
      assert.equal(result.outcome, 'admitted')
      expected.admitted++
      expected.running.set(id, store)
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error
      // Refused because the answer was lost: its possible hold is released once the store answers
      // again.
      const nothing = { tenant, id, used: tokens(0), budget: undefined }
      if (random() < 0.5) await Promise.resolve(store.settle(nothing)).catch(() => undefined)
    }
    return
  }
  const [running, owner] = oldest
  if (choice < 0.6) {
    const used = { tokens: Math.floor(random() * 60), nanos: 0 }
    await owner.renew([{ tenant, id: running, used }]).catch(() => undefined)
    return
  }
  if (choice < 0.7) {
    const more = { tenant, id: running, budget: BUDGET, estimate: tokens(70) }
    await owner.extend(more).catch(() => undefined)
    return
  }
  const used: Amount = { tokens: Math.floor(random() * 90), nanos: Math.floor(random() * 900) }
  const settling = { tenant, id: running, used, budget: BUDGET }
  const { charged } = await untilTaken(async () => await owner.settle(settling))
  assert.equal(charged, true)
  assert.equal((await owner.settle(settling)).charged, false)
  expected.running.delete(running)
  expected.tokens += used.tokens
  expected.nanos += used.nanos
}

test('after 1,000 histories with randomly lost answers the counters equal those of the model', async () => {
  let lost = 0
  for (let seed = 1; seed <= 1_000; seed++) {
    const random = seeded(seed)
    const shares = { isReliable: false }
    const counting: Link = {
      run: (...call) =>
        unreliable(random, shares)
          .run(...call)
          .catch((error: unknown) => {
            if (error instanceof StoreAway && error.maybeApplied) lost++
            throw error
          }),
    }
    const time = aClock()
    // The store's time does not advance, so the bucket does not leak.
    const stores = ['one', 'two'].map((replica) =>
      aStore(
        atTime(counting, () => NOON),
        { replica, clock: time },
      ),
    )
    const tenant = `t${seed}`
    const expected: Expected = { admitted: 0, tokens: 0, nanos: 0, running: new Map() }
    for (let index = 0; index < 12; index++) {
      const store = stores[random() < 0.5 ? 0 : 1]
      if (store === undefined) throw new Error('There are two.')
      await step(store, { tenant, id: `r${index}`, random }, expected)
    }
    shares.isReliable = true
    time.pass(4_001)
    for (const store of stores) {
      const beats = [...expected.running].filter(([, owner]) => owner === store)
      await store.renew(beats.map(([id]) => ({ tenant, id, used: tokens(0) })))
    }
    const figures = await stores[0]?.read(tenant, RULES)
    assert.deepEqual(
      {
        settled: [figures?.tokens?.settled, figures?.spend?.settled],
        running: figures?.concurrency.used,
        remaining: figures?.requests.remaining,
      },
      {
        settled: [expected.tokens, expected.nanos],
        running: expected.running.size,
        remaining: BURST - expected.admitted,
      },
      `seed ${seed}`,
    )
  }
  assert.ok(lost >= 1_000, `${lost} answers were lost`)
  recordResult('reply_lost', 'difference 0', `${lost} lost answers`)
})

function pair(): readonly [RedisStore, RedisStore] {
  const make = (replica: string) =>
    aStore(atTime(bench.link, bench.clock.wall), { replica, clock: bench.clock })
  return [make('one'), make('two')]
}

async function use(store: RedisStore, id: string, amount: number): Promise<void> {
  const estimate = { tokens: amount, nanos: 10 * amount }
  await store.admit({ tenant: 'acme', id, rules: RULES, estimate })
  await store.settle({ tenant: 'acme', id, used: estimate, budget: BUDGET })
}

async function settled(store: RedisStore): Promise<readonly (number | undefined)[]> {
  const { tokens: day, spend } = await store.read('acme', RULES)
  return [day?.settled, spend?.settled]
}

test('after FLUSHALL the next call of each replica restores what that replica knew', async () => {
  const [one, two] = pair()
  await use(one, 'a', 100)
  await use(two, 'b', 20)
  await use(one, 'c', 3)
  await use(two, 'd', 7)
  await bench.link.client.flushall()
  const admitted = await one.admit({ tenant: 'acme', id: 'e', rules: RULES, estimate: tokens(1) })
  assert.equal(admitted.figures.tokens?.settled, 123)
  await two.renew([])
  assert.deepEqual(await settled(one), [130, 1_300])
  await bench.link.client.flushall()
  await two.renew([])
  await one.renew([])
  await two.renew([])
  assert.deepEqual(await settled(two), [130, 1_300])
})

test('usage of ended replicas survives a flush', async () => {
  const [gone, stays] = pair()
  await use(gone, 'a', 100)
  await use(stays, 'b', 20)
  await bench.link.client.flushall()
  await use(stays, 'c', 5)
  assert.deepEqual(await settled(stays), [125, 1_250])
})

test('the charge of an expired lease is not added to its settlement after a flush', async () => {
  const [one, two] = pair()
  const hold = { tenant: 'acme', id: 'cut off' }
  await one.admit({ ...hold, rules: RULES, estimate: tokens(50) })
  await one.renew([{ ...hold, used: { tokens: 30, nanos: 300 } }])
  bench.clock.pass(LEASE_MS)
  assert.deepEqual(await settled(two), [30, 300], 'it expired')
  await bench.link.client.flushall()
  await use(two, 'b', 7)
  await one.settle({ ...hold, used: { tokens: 40, nanos: 400 }, budget: BUDGET })
  assert.deepEqual(await settled(two), [47, 470])
})

test('usage taken back before a flush does not return after it', async () => {
  const [one, two] = pair()
  const hold = { tenant: 'acme', id: 'cut off' }
  await one.admit({ ...hold, rules: RULES, estimate: tokens(50) })
  await one.renew([{ ...hold, used: { tokens: 30, nanos: 300 } }])
  bench.clock.pass(LEASE_MS)
  await use(two, 'b', 7)
  await one.settle({ ...hold, used: { tokens: 40, nanos: 400 }, budget: BUDGET })
  await bench.link.client.flushall()
  await one.renew([])
  await two.renew([])
  assert.deepEqual(await settled(two), [47, 470])
})

test("charges of a killed replica's expired leases survive a flush once none can be taken back", async () => {
  const [killed, stays] = pair()
  const charge = async (id: string) => {
    await killed.admit({ tenant: 'acme', id, rules: RULES, estimate: tokens(50) })
    await killed.renew([{ tenant: 'acme', id, used: { tokens: 30, nanos: 300 } }])
    bench.clock.pass(LEASE_MS)
    await settled(stays)
  }
  await charge('a')
  // A day later: the server has dropped the graves.
  await bench.link.client.del('gw:v1:{acme}:graves')
  await charge('b')
  await use(stays, 'c', 7)
  await bench.link.client.flushall()
  await stays.renew([])
  assert.deepEqual(await settled(stays), [37, 370])
})

/** Loses the answer to the next settlement, which the server has applied. */
function losingAnAnswer(): { readonly store: RedisStore; lose(): void } {
  let isLosing = false
  const link: Link = {
    async run(script, ...call) {
      const reply = await atTime(bench.link, bench.clock.wall).run(script, ...call)
      if (!isLosing || script.name !== 'settle') return reply
      isLosing = false
      throw new StoreAway('timeout', true)
    },
  }
  const lose = () => {
    isLosing = true
  }
  return { store: aStore(link, { replica: 'one', clock: bench.clock }), lose }
}

test('a settlement whose answer was lost before a flush counts once, even if it was the first in its windows', async () => {
  const { store: one, lose } = losingAnAnswer()
  const [, two] = pair()
  const settling = { tenant: 'acme', id: 'a', used: { tokens: 40, nanos: 400 }, budget: BUDGET }
  await one.admit({ tenant: 'acme', id: 'a', rules: RULES, estimate: tokens(50) })
  lose()
  await assert.rejects(async () => await one.settle(settling), StoreAway)
  assert.deepEqual(await settled(two), [40, 400])
  await bench.link.client.flushall()
  await use(two, 'b', 7)
  assert.equal((await one.settle({ ...settling, id: 'a' })).charged, true)
  assert.deepEqual(await settled(two), [47, 470])
})

test('running requests hold their slots again after a flush, and are charged once', async () => {
  const [one, two] = pair()
  const estimate = tokens(500)
  const hold = { tenant: 'acme', id: 'stream' }
  await one.admit({ ...hold, rules: RULES, estimate })
  bench.clock.pass(5_000)
  await bench.link.client.flushall()
  assert.deepEqual(await one.renew([{ ...hold, used: tokens(40) }]), [])
  const { concurrency, tokens: day } = await two.read('acme', RULES)
  assert.deepEqual([concurrency.used, day?.reserved], [1, 500])
  await one.settle({ ...hold, used: tokens(90), budget: BUDGET })
  assert.deepEqual(await one.renew([{ ...hold, used: tokens(40) }]), ['stream'])
  const after_ = await two.read('acme', RULES)
  assert.deepEqual([after_.concurrency.used, after_.tokens?.settled], [0, 90])
})

test('a flush at any of 300 random points makes no sum negative, doubled or too large', async () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = seeded(seed)
    const tenant = `f${seed}`
    const stores = pair()
    let truth = 0
    for (let index = 0; index < 15; index++) {
      const store = stores[random() < 0.5 ? 0 : 1]
      const amount = 1 + Math.floor(random() * 100)
      const estimate = tokens(amount)
      await store.admit({ tenant, id: `r${index}`, rules: RULES, estimate })
      if (random() < 0.2) await bench.link.client.flushall()
      await store.settle({ tenant, id: `r${index}`, used: estimate, budget: BUDGET })
      truth += amount
      const { tokens: day } = await store.read(tenant, RULES)
      assert.ok((day?.settled ?? -1) <= truth && (day?.settled ?? -1) >= 0, `seed ${seed}`)
    }
    for (const store of stores) await store.renew([])
    const { tokens: day } = await stores[0].read(tenant, RULES)
    assert.equal(day?.settled, truth, `seed ${seed}`)
  }
})

test('if a copy from before the last settlements is restored, the replicas restore them', async () => {
  const [one, two] = pair()
  await use(one, 'a', 100)
  const keys = await bench.link.client.keys('*')
  for (const key of keys) await bench.link.client.copy(key, `copy of ${key}`)
  await use(one, 'b', 20)
  await use(two, 'c', 7)
  for (const key of keys) await bench.link.client.copy(`copy of ${key}`, key, 'REPLACE')
  await one.renew([])
  await two.renew([])
  assert.deepEqual(await settled(one), [127, 1_270])
  await use(two, 'd', 1)
  assert.deepEqual(await settled(one), [128, 1_280])
})

test('what another replica knows of a settlement without an answer counts once after an older copy', async () => {
  const { store: one, lose } = losingAnAnswer()
  const [, two] = pair()
  await use(one, 'a', 4)
  const keys = await bench.link.client.keys('*')
  for (const key of keys) await bench.link.client.copy(key, `copy of ${key}`)
  bench.clock.pass(10)
  const settling = { tenant: 'acme', id: 'b', used: { tokens: 6, nanos: 60 }, budget: BUDGET }
  await one.admit({ tenant: 'acme', id: 'b', rules: RULES, estimate: tokens(6) })
  lose()
  await assert.rejects(async () => await one.settle(settling), StoreAway)
  await use(two, 'c', 7)
  for (const key of keys) await bench.link.client.copy(`copy of ${key}`, key, 'REPLACE')
  bench.clock.pass(10)
  await two.renew([])
  assert.deepEqual(await settled(two), [17, 170])
  assert.equal((await one.settle(settling)).charged, true)
  assert.deepEqual(await settled(two), [17, 170])
  bench.clock.pass(10)
  await use(one, 'd', 5)
  await use(two, 'e', 1)
  assert.deepEqual(await settled(one), [23, 230])
})

test('a call that a frozen server executes two seconds late changes nothing', async () => {
  const link = atTime(bench.link, bench.clock.wall)
  const sent: Parameters<Link['run']>[] = []
  const recording: Link = {
    run: (...call) => {
      sent.push(call)
      return link.run(...call)
    },
  }
  const store = aStore(recording, { clock: bench.clock })
  const hold = { tenant: 'acme', id: 'a' }
  await store.admit({ ...hold, rules: RULES, estimate: tokens(1) })
  await store.renew([{ ...hold, used: tokens(1) }])
  await store.settle({ ...hold, used: tokens(1), budget: BUDGET })
  const before_ = await store.read('acme', RULES)
  bench.clock.pass(2_001)
  for (const [script, keys, args] of sent) {
    await link.run(script, keys, args)
  }
  const { concurrency, tokens: day, requests } = await store.read('acme', RULES)
  assert.deepEqual(
    [concurrency.used, day?.settled, day?.reserved, requests.remaining],
    [0, 1, 0, before_.requests.remaining],
  )
})

test('requests admitted without the store are counted in it from the first renewal on', async () => {
  const [one, two] = pair()
  const request = { tenant: 'acme', id: 'alone', rules: RULES, estimate: tokens(300) }
  one.adopt(request, bench.clock.wall())
  await one.renew([{ tenant: 'acme', id: 'alone', used: tokens(10) }])
  const { concurrency, tokens: day } = await two.read('acme', RULES)
  assert.deepEqual([concurrency.used, day?.reserved], [1, 300])
  await one.settle({ tenant: 'acme', id: 'alone', used: tokens(30), budget: BUDGET })
  const yesterday = bench.clock.wall() - 86_400_000
  const late = { tenant: 'acme', id: 'old', used: tokens(5), budget: BUDGET }
  assert.equal((await one.settle({ ...late, admittedAt: yesterday })).charged, true)
  assert.equal(
    (await one.settle({ ...late, id: 'new', admittedAt: bench.clock.wall() })).charged,
    true,
  )
  assert.deepEqual((await two.read('acme', RULES)).tokens?.settled, 35)
  bench.clock.pass(LEASE_MS)
  assert.equal(verdict(await two.admit({ ...request, id: 'next' })), 'admitted')
})
