/** The store's clock counts, even if it goes back, and while the store is away. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { LEASE_MS, type Rules, type Store } from '../../../dataplane/accounts/store.ts'
import { type Clock, Deadlines, systemClock } from '../../../dataplane/base/clock.ts'
import { HistoryBook } from '../../../dataplane/store/history/book.ts'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { openRedis } from '../../../dataplane/store/shared/open-redis.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import type { Log } from '../../../dataplane/telemetry/log.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { aClock, NOON } from '../../helpers/clock.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, tokens, verdict } from '../../helpers/store/world.ts'
import { until } from '../../helpers/until.ts'
import { aStore, openLink, type TestLink } from './store-world.ts'

const HOUR_MS = 3_600_000

let server: RedisServer
let link: TestLink
before(async () => {
  server = await startRedis()
  link = openLink(server)
})
beforeEach(() => link.client.flushall())
after(async () => {
  link.close()
  await server.stop()
})

const SILENT: Log = {
  event: () => undefined,
  request: () => undefined,
  flush: () => undefined,
}

/** As a gateway opens it. */
function opened(clock: Clock) {
  const section = {
    url: `unix://${server.socket}`,
    key_prefix: 'gw',
    timeout_ms: 1_000,
    fail_open: true,
  }
  return openRedis(section, {
    usage: new UsageBook(),
    history: new HistoryBook(clock),
    clock,
    deadlines: new Deadlines(clock),
    metrics: createMetrics(),
    log: SILENT,
    random: Math.random,
    replica: 'skewed',
    replicas: 1,
    secureContext: () => {
      throw new Error('A socket has no TLS.')
    },
  })
}

let requests = 0

/** Uses this many tokens, or returns the reason of a refusal. */
async function use(store: Store, used: number, rules: Rules): Promise<string> {
  const hold = { tenant: 'acme', id: `r${++requests}`, budget: rules.budget }
  const made = verdict(await store.admit({ ...hold, rules, estimate: tokens(used) }))
  if (made === 'admitted') void store.settle({ ...hold, used: tokens(used) })
  return made
}

for (const hours of [-25, 25]) {
  test(`a clock that is ${hours} hours wrong opens no other window while the store is away`, async () => {
    const clock = { now: systemClock.now, wall: () => Date.now() + hours * HOUR_MS }
    const { store, status, start, close } = opened(clock)
    const rules = aRule({ budget: aBudget({ tokensPerDay: 100 }) })
    await start()
    await until('it is up', () => status().state === 'up')
    assert.equal(await use(store, 90, rules), 'admitted')
    await until(
      'it is settled',
      async () => (await store.read('acme', rules)).tokens?.settled === 90,
    )
    // A server that cannot write counts as away.
    await server.ask('CONFIG', 'SET', 'maxmemory', '1')
    await until('it is away', () => status().state === 'away')
    assert.equal(await use(store, 5, rules), 'admitted')
    assert.equal(await use(store, 5, rules), 'admitted')
    assert.equal(await use(store, 5, rules), 'budget_tokens')
    await server.ask('CONFIG', 'SET', 'maxmemory', '0')
    await until('it is back', () => status().state === 'up')
    await until(
      'all is told',
      async () => (await store.read('acme', rules)).tokens?.settled === 100,
    )
    assert.equal(await use(store, 5, rules), 'budget_tokens')
    const days = await link.client.keys('gw:*:day:*')
    assert.deepEqual(
      days.map((key) => key.slice(-10)),
      [new Date().toISOString().slice(0, 10)],
    )
    await close()
  })
}

/** A store with a server clock that the test sets: a promoted replica may have another clock. */
function onServerTime(start = NOON) {
  const own = aClock(start)
  const time = aClock(start)
  const store: RedisStore = aStore(atTime(link, time.wall), { clock: own })
  const pass = (ms: number) => {
    own.pass(ms)
    time.pass(ms)
  }
  const admit = async (id: string, rules: Rules) =>
    await store.admit({ tenant: 'acme', id, rules, estimate: tokens(10) })
  return { store, time, pass, admit }
}

test('a store whose clock goes back an hour blocks no tenant and refills no bucket', async () => {
  const { store, time, pass, admit } = onServerTime()
  const rules = aRule({ burst: 5, requestsPerMinute: 60, tokensPerMinute: 6_000 })
  for (let index = 0; index < 5; index++) await admit(`a${index}`, rules)
  assert.equal(verdict(await admit('b', rules)), 'rpm')
  time.setWall(NOON - HOUR_MS)
  const refused = await admit('c', rules)
  assert.equal(verdict(refused), 'rpm')
  assert.equal(refused.outcome === 'refused' && refused.retryAfterMs, 1_000)
  pass(1_000)
  assert.equal(verdict(await admit('d', rules)), 'admitted')
  assert.equal(verdict(await admit('e', rules)), 'rpm')
  pass(4_000)
  assert.equal((await store.read('acme', rules)).requests.remaining, 4)
})

test('leases from before the clock went back expire after their 15 s, not an hour later', async () => {
  const { store, time, pass, admit } = onServerTime()
  const budget = aBudget({ tokensPerDay: 1_000 })
  const rules = aRule({ concurrentRequests: 2, budget })
  for (const id of ['ends', 'dies']) await admit(id, rules)
  await store.renew([{ tenant: 'acme', id: 'dies', used: tokens(3) }])
  time.setWall(NOON - HOUR_MS)
  assert.equal(verdict(await admit('more', rules)), 'concurrency')
  assert.equal(
    (await store.settle({ tenant: 'acme', id: 'ends', used: tokens(4), budget })).charged,
    true,
  )
  pass(LEASE_MS - 1)
  assert.equal((await store.read('acme', rules)).concurrency.used, 1)
  pass(1)
  const { concurrency, tokens: day } = await store.read('acme', rules)
  assert.deepEqual([concurrency.used, day?.settled, day?.reserved], [0, 7, 0])
})

test('a clock that goes back past midnight counts in the previous day, and nothing twice', async () => {
  const midnight = Date.parse('2026-12-01T00:00:00Z')
  const { store, time, pass, admit } = onServerTime(midnight - 1_000)
  const budget = aBudget({ tokensPerDay: 1_000, nanosPerMonth: 1_000 })
  const rules = aRule({ budget })
  const settle = (id: string, used: number) =>
    store.settle({ tenant: 'acme', id, used: { tokens: used, nanos: used }, budget })
  const stands = async () => {
    const { tokens: day, spend } = await store.read('acme', rules)
    return [day?.settled, day?.reserved, spend?.settled]
  }
  await admit('before', rules)
  await settle('before', 7)
  pass(2_000)
  await admit('after', rules)
  assert.deepEqual(await stands(), [0, 10, 0])
  time.setWall(midnight - 5_000)
  assert.deepEqual(await stands(), [7, 0, 7])
  await settle('after', 9)
  await admit('again', rules)
  await settle('again', 2)
  assert.deepEqual(await stands(), [9, 0, 9])
  pass(6_000)
  assert.deepEqual(await stands(), [9, 0, 9])
})
