/** Several replicas on one store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Amount, LEASE_MS, type Rules } from '../../../dataplane/accounts/store.ts'
import type { Link } from '../../../dataplane/store/redis/link.ts'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aClock } from '../../helpers/clock.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, nanos, tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

const bench = aStoreBench()

const BUDGET = aBudget({ tokensPerDay: 1_000, nanosPerMonth: 1_000_000 })

const replica = (name: string) => bench.replica(name)

async function admit(store: RedisStore, id: string, rules: Rules, estimate: Amount = tokens(0)) {
  return await store.admit({ tenant: 'acme', id, rules, estimate })
}

function settle(store: RedisStore, id: string, used: Amount, rules: Rules) {
  return store.settle({ tenant: 'acme', id, used, budget: rules.budget })
}

test('replicas share one bucket, one set of slots and one budget', async () => {
  const replicas = [replica('one'), replica('two'), replica('three')]
  const rules = aRule({ burst: 5, requestsPerMinute: 1, concurrentRequests: 4, budget: BUDGET })
  const made: string[] = []
  for (let index = 0; index < 6; index++) {
    const store = replicas[index % 3]
    if (store === undefined) throw new Error('There are three.')
    made.push(verdict(await admit(store, `r${index}`, rules, tokens(100))))
    if (index === 3) await settle(store, 'r3', tokens(10), rules)
  }
  assert.deepEqual(made, ['admitted', 'admitted', 'admitted', 'admitted', 'admitted', 'rpm'])
  for (const store of replicas) {
    const { concurrency, tokens: day, requests } = await store.read('acme', rules)
    assert.deepEqual([concurrency.used, day?.settled, day?.reserved], [4, 10, 400])
    assert.equal(requests.remaining, 0)
  }
})

test('replicas that create a window at the same time count each use once', async () => {
  const rules = aRule({ budget: BUDGET })
  const replicas = Array.from({ length: 10 }, (_, index) => replica(`r${index}`))
  await Promise.all(
    replicas.map(async (store, index) => {
      await admit(store, `r${index}`, rules, tokens(50))
      await settle(store, `r${index}`, { tokens: 7, nanos: 70 }, rules)
    }),
  )
  const { tokens: day, spend, concurrency } = await replica('late').read('acme', rules)
  assert.deepEqual([day?.settled, spend?.settled, concurrency.used], [70, 700, 0])
})

test('a killed replica frees its slots after 15 s and is charged its last report', async () => {
  const rules = aRule({ concurrentRequests: 50, budget: BUDGET })
  const killed = replica('killed')
  const beats = []
  for (let index = 0; index < 50; index++) {
    await admit(killed, `k${index}`, rules, tokens(10))
    beats.push({ tenant: 'acme', id: `k${index}`, used: { tokens: 3, nanos: 30 } })
  }
  bench.clock.pass(5_000)
  assert.deepEqual(await killed.renew(beats), [])
  const other = replica('other')
  bench.clock.pass(LEASE_MS - 1)
  assert.equal(verdict(await admit(other, 'o', rules)), 'concurrency')
  bench.clock.pass(1)
  assert.equal(verdict(await admit(other, 'o', rules)), 'admitted')
  const { concurrency, tokens: day, spend } = await other.read('acme', rules)
  assert.deepEqual(
    [concurrency.used, day?.settled, day?.reserved, spend?.settled],
    [1, 150, 0, 1_500],
  )
})

test('a replica that paused corrects its charge, and restores its running requests', async () => {
  const rules = aRule({ budget: BUDGET, tokensPerMinute: 10_000 })
  const still = replica('still')
  const other = replica('other')
  for (const id of ['ends', 'runs']) await admit(still, id, rules, tokens(100))
  bench.clock.pass(5_000)
  const beats = ['ends', 'runs'].map((id) => ({ tenant: 'acme', id, used: tokens(40) }))
  await still.renew(beats)
  bench.clock.pass(LEASE_MS)
  assert.equal((await other.read('acme', rules)).tokens?.settled, 80)
  assert.equal((await settle(still, 'ends', tokens(25), rules)).charged, true)
  assert.equal((await settle(still, 'ends', tokens(25), rules)).charged, false)
  assert.equal((await other.read('acme', rules)).tokens?.settled, 65)
  assert.deepEqual(await still.renew(beats.slice(1)), [])
  const back = await other.read('acme', rules)
  assert.deepEqual([back.tokens?.settled, back.tokens?.reserved], [25, 100])
  assert.equal(back.concurrency.used, 1)
  await settle(still, 'runs', tokens(60), rules)
  assert.equal((await other.read('acme', rules)).tokens?.settled, 85)
})

test('an alert is sent once over all replicas, and again to the request whose answer was lost', async () => {
  const budget = { ...BUDGET, alertThresholds: [0.5, 0.8] }
  const rules = aRule({ budget })
  const [one, two] = [replica('one'), replica('two')]
  const alertsOf = async (store: RedisStore, id: string, used: Amount) => {
    await admit(store, id, rules, tokens(1))
    const { crossed } = await settle(store, id, used, rules)
    return crossed.map(({ window, threshold, used: sum }) => `${window} ${threshold} ${sum}`)
  }
  assert.deepEqual(await alertsOf(one, 'a', tokens(400)), [])
  assert.deepEqual(await alertsOf(two, 'b', tokens(100)), ['day 0.5 500'])
  assert.deepEqual(await alertsOf(one, 'c', { tokens: 300, nanos: 500_000 }), [
    'day 0.8 800',
    'month 0.5 500000',
  ])
  assert.deepEqual(await alertsOf(two, 'd', tokens(1)), [])
  bench.clock.pass(12 * 3_600_000)
  const link = atTime(bench.link, bench.clock.wall)
  let isDeaf = true
  const deaf: Link = {
    run: async (...call) => {
      const reply = await link.run(...call)
      if (call[0].name === 'settle' && isDeaf) throw new Error('lost')
      return reply
    },
  }
  const third = aStore(deaf, { replica: 'three', clock: bench.clock })
  await admit(third, 'e', rules)
  await assert.rejects(async () => await settle(third, 'e', tokens(500), rules))
  isDeaf = false
  const { crossed } = await settle(third, 'e', tokens(500), rules)
  assert.deepEqual(
    crossed.map(({ threshold }) => threshold),
    [0.5],
  )
  assert.equal((await third.read('acme', rules)).tokens?.settled, 500)
})

test("a request belongs to the day and month in which it began, by the store's clock", async () => {
  const starts = ['2026-11-30T23:59:59Z', '2028-02-28T23:59:59Z', '2027-12-31T23:59:59Z']
  for (const start of starts) {
    await bench.link.client.flushall()
    const time = aClock(Date.parse(start))
    // The replica's own clock is an hour late, and it learns the store's clock only from answers.
    const own = aClock(Date.parse(start) - 3_600_000)
    const store = aStore(atTime(bench.link, time.wall), { clock: own })
    const rules = aRule({ budget: BUDGET })
    for (const id of ['ends', 'dies']) await admit(store, id, rules, { tokens: 100, nanos: 1_000 })
    await store.renew([{ tenant: 'acme', id: 'dies', used: { tokens: 5, nanos: 50 } }])
    time.pass(2_000)
    own.pass(2_000)
    const fresh = await store.read('acme', rules)
    const isNewMonth = !start.includes('02-28')
    const held = [fresh.tokens?.reserved, fresh.tokens?.settled, fresh.spend?.reserved]
    assert.deepEqual(held, [0, 0, isNewMonth ? 0 : 2_000], start)
    await settle(store, 'ends', { tokens: 60, nanos: 600 }, rules)
    time.pass(LEASE_MS)
    own.pass(LEASE_MS)
    const { tokens: day, spend, concurrency } = await store.read('acme', rules)
    assert.deepEqual([day?.settled, spend?.settled], [0, isNewMonth ? 0 : 650], start)
    assert.equal(concurrency.used, 0)
    const keys = (await bench.link.client.keys('*:day:*')).toSorted()
    const before = keys.find((key) => key.endsWith(start.slice(0, 10))) ?? ''
    assert.equal(await bench.link.client.hget(before, 'sum'), '65')
  }
})

test('replicas whose clocks differ by an hour share the same limits', async () => {
  const rules = aRule({ burst: 10, requestsPerMinute: 1, budget: BUDGET })
  const stores = [-3_600_000, 0, 3_600_000].map((skew) =>
    aStore(bench.link, { replica: `skewed ${skew}`, clock: aClock(Date.now() + skew) }),
  )
  let admitted = 0
  for (let index = 0; index < 30; index++) {
    const store = stores[index % 3]
    if (store === undefined) throw new Error('There are three.')
    const result = await admit(store, `s${index}`, rules, nanos(1))
    if (result.outcome === 'admitted') admitted++
    assert.equal(result.figures.concurrency.used, admitted)
  }
  assert.equal(admitted, 10)
})

test('a changed limit applies from the next request, and no bucket is refilled', async () => {
  const [one, two] = [replica('one'), replica('two')]
  const rules = aRule({ burst: 10, requestsPerMinute: 60, budget: BUDGET })
  for (let index = 0; index < 10; index++) await admit(one, `a${index}`, rules, tokens(100))
  const larger = { ...rules, burst: 12, requestsPerMinute: 600 }
  assert.equal((await two.read('acme', larger)).requests.remaining, 2)
  const smaller = { ...rules, burst: 4, requestsPerMinute: 60 }
  assert.equal((await one.read('acme', smaller)).requests.remaining, 0)
  bench.clock.pass(1_000)
  assert.equal((await two.read('acme', smaller)).requests.remaining, 1)
  const raised = { ...rules, budget: { ...BUDGET, tokensPerDay: 2_000 } }
  assert.deepEqual((await two.read('acme', raised)).tokens?.reserved, 1_000)
})
