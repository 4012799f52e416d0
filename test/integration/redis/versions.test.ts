/**
 * Gateways of two versions side by side: both read the data under `v1` in Redis. The written bytes
 * are compared with recorded bytes; a change of these bytes needs another version of the keys.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { aBudget, aRule } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'

const STATE = 'gw:v1:{acme}:state'
const LEASES = 'gw:v1:{acme}:leases'
const GRAVES = 'gw:v1:{acme}:graves'
const DAY = 'gw:v1:{acme}:day:2026-11-21'
const MONTH = 'gw:v1:{acme}:month:2026-11'

const hex = (text: string) => Buffer.from(text).toString('hex')

/** The field of a window that names the sent alerts. */
const ALERTED = 'told'

/**
 * By key and, except for the state, by field: of an ended request, an expired one, and a running
 * one.
 */
const RECORDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [STATE]: {
    '':
      'cdea60cf000001a1fdfa80983c0ace005b8d80cf000001a1fdfa8098cd03e8cd03e801cf000001a1fdfabb3004' +
      'aa323032362d31312d323164a7323032362d3131cd03e8',
  },
  [LEASES]: {
    runs: `cf000001a1fdfabb3004aa323032362d31312d3231a7323032362d313164cd03e800006400d940${'2e'.repeat(64)}`,
  },
  [GRAVES]: { dies: '053205' },
  [DAY]: {
    sum: hex('35'),
    base: hex('5'),
    expired: hex('5'),
    [ALERTED]: hex(' 0.01=ends '),
    'r:old': '1ecf000001a1fdfa4600',
  },
  [MONTH]: {
    sum: hex('350'),
    base: hex('50'),
    expired: hex('50'),
    [ALERTED]: hex(' 0.01=ends '),
    'r:old': 'cd012ccf000001a1fdfa4600',
  },
}

const BUDGET = aBudget({ tokensPerDay: 1_000, nanosPerMonth: 10_000, alertThresholds: [0.01] })
const RULES = aRule({
  requestsPerMinute: 60,
  burst: 10,
  concurrentRequests: 5,
  tokensPerMinute: 1_000,
  budget: BUDGET,
})
const ESTIMATE = { tokens: 100, nanos: 1_000 }

const bench = aStoreBench()

const replica = (name: string) => bench.replica(name)

function admit(store: RedisStore, id: string) {
  return store.admit({ tenant: 'acme', id, rules: RULES, estimate: ESTIMATE })
}

/** Writes the recorded data; a later version may have appended to a packed value. */
async function restore(appended = '', missing?: string): Promise<void> {
  for (const [key, fields] of Object.entries(RECORDED)) {
    for (const [field, bytes] of Object.entries(fields)) {
      if (field === missing) continue
      const isPacked = key === STATE || key === LEASES || field.startsWith('r:')
      const value = Buffer.from(bytes + (isPacked ? appended : ''), 'hex')
      if (field === '') await bench.link.client.set(key, value)
      else await bench.link.client.hset(key, field, value)
    }
  }
  for (const key of [DAY, MONTH]) await bench.link.client.hset(key, 'born', '1795288229996855')
}

/** The recorded moment is 15 s after the start of a test's clock. */
async function assertUnderstood(): Promise<void> {
  bench.clock.pass(15_000)
  const store = replica('new')
  const { requests, tokenRate, concurrency, tokens, spend } = await store.read('acme', RULES)
  assert.deepEqual([requests.remaining, tokenRate?.remaining, concurrency.used], [9, 900, 1])
  assert.deepEqual([tokens?.settled, tokens?.reserved], [35, 100])
  assert.deepEqual([spend?.settled, spend?.reserved], [350, 1_000])
  await admit(store, 'mine')
  const used = { tokens: 10, nanos: 100 }
  const { crossed } = await store.settle({ tenant: 'acme', id: 'mine', used, budget: BUDGET })
  assert.deepEqual(crossed, [], 'the other version sent the alert')
  bench.clock.pass(15_000)
  const later = await store.read('acme', RULES)
  assert.deepEqual(
    [later.concurrency.used, later.tokens?.settled, later.spend?.settled],
    [0, 45, 450],
  )
}

test('this version reads what another version has written under these keys', async () => {
  await restore()
  await assertUnderstood()
})

test('this version reads what a version before `expired` has written', async () => {
  await restore('', 'expired')
  await assertUnderstood()
})

test('additions of a later version are skipped', async () => {
  await restore('a56c61746572')
  await assertUnderstood()
})

test('the written bytes are those that other versions know', async () => {
  const store = replica('old')
  await admit(store, 'ends')
  await admit(store, 'dies')
  await store.renew([{ tenant: 'acme', id: 'dies', used: { tokens: 5, nanos: 50 } }])
  const used = { tokens: 30, nanos: 300 }
  await store.settle({ tenant: 'acme', id: 'ends', used, budget: BUDGET })
  bench.clock.pass(15_000)
  await admit(store, 'runs')
  const written: Record<string, Record<string, string>> = {}
  for (const key of await bench.link.client.keys('*')) {
    const fields =
      key === STATE
        ? { '': (await bench.link.client.getBuffer(key)) ?? Buffer.of() }
        : await bench.link.client.hgetallBuffer(key)
    written[key] = Object.fromEntries(
      Object.entries(fields)
        // The creation time of the window, by the server's own clock.
        .filter(([field]) => field !== 'born')
        .map(([field, value]) => [field, value.toString('hex')]),
    )
  }
  assert.deepEqual(written, RECORDED, 'other bytes need another VERSION in roots.ts')
})
