/** Counters of limits[] in Redis: where they are stored, and how long they are kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { limitedRules } from '../../helpers/store/limited-rules.ts'
import { tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'

const bench = aStoreBench()

const MINUTE_MS = 60_000
const DAY_MS = 1440 * MINUTE_MS

const rulesOf = limitedRules([
  { name: 'rate', for: { each: 'tag/project' }, requests_per_minute: 60, tokens_per_minute: 1000 },
  { name: 'daily', for: { tenant: 'acme', each: 'key' }, budget: { tokens: 100, per: 'day' } },
])

let made = 0

async function request(store: RedisStore, project: string, used: number) {
  const rules = rulesOf({ tags: `project=${project}` })
  const id = `r${++made}`
  const result = await store.admit({ tenant: 'acme', id, rules, estimate: tokens(10) })
  if (result.outcome === 'refused') return result
  const { budget, scoped } = rules
  await store.settle({ tenant: 'acme', id, used: tokens(used), budget, scoped })
  return result
}

test("a counter of one tenant is in its tenant's slot, and another counter has a separate slot", async () => {
  await request(bench.replica('one'), 'a', 10)
  const keys = (await bench.link.client.keys('*')).toSorted()
  assert.ok(keys.includes('gw:v1:{limit:rate%0020a}:state'), keys.join(' '))
  assert.ok(keys.includes('gw:v1:{acme}:limit:daily%0020k1:state'), keys.join(' '))
})

test('a rate without requests is deleted a minute after its bucket is empty, and has no window', async () => {
  await request(bench.replica('one'), 'a', 10)
  const { client } = bench.link
  const left = await client.pttl('gw:v1:{limit:rate%0020a}:state')
  assert.ok(left > 0 && left <= 2 * MINUTE_MS, `${left} ms`)
  const keys = await client.keys('gw:v1:{limit:rate*')
  assert.deepEqual(keys, ['gw:v1:{limit:rate%0020a}:state'])
})

test('the window of a daily budget is deleted within two days', async () => {
  await request(bench.replica('one'), 'a', 10)
  const { client } = bench.link
  const keys = await client.keys('gw:v1:{acme}:limit:daily*:day:*')
  assert.equal(keys.length, 1)
  const left = await client.pttl(keys[0] ?? '')
  assert.ok(left > 0 && left <= 2 * DAY_MS, `${left} ms`)
})

test('two replicas count one budget, and a refusal charges no other limit', async () => {
  const [one, two] = [bench.replica('one'), bench.replica('two')]
  assert.equal(verdict(await request(one, 'a', 60)), 'admitted')
  assert.equal(verdict(await request(two, 'b', 60)), 'admitted')
  const refused = await request(one, 'a', 1)
  assert.ok(refused.outcome === 'refused')
  assert.deepEqual([refused.by, refused.scope?.name], ['budget_tokens', 'daily'])
  const { scoped = [] } = await one.read('acme', rulesOf({ tags: 'project=a' }))
  const [rate, daily] = scoped
  assert.deepEqual([rate?.requests?.limit, rate?.requests?.remaining], [60, 14])
  assert.equal(daily?.tokens?.settled, 120)
})

test('a process that has dropped quiet counters continues with their totals', async () => {
  const store = bench.replica('one')
  await request(store, 'a', 30)
  // The counters of an acme key are dropped among those with names invented by clients.
  const book = limitedRules([
    { name: 'made-up', for: { each: 'tag/project' }, concurrent_requests: 5 },
  ])
  bench.clock.pass(2 * MINUTE_MS)
  for (let value = 0; value < 10_000; value++)
    store.settle({
      tenant: 'acme',
      id: `unknown-${value}`,
      used: tokens(0),
      budget: undefined,
      scoped: book({ tags: `project=${value}` }).scoped,
    })
  await request(store, 'a', 30)
  const { scoped = [] } = await store.read('acme', rulesOf())
  assert.equal(scoped[0]?.tokens?.settled, 60)
})

test('a counter of an end user takes less than a kibibyte, and the store does not get the name', async () => {
  const { client } = bench.link
  const ofUser = limitedRules([
    {
      name: 'end-users',
      for: { each: 'user' },
      requests_per_minute: 20,
      budget: { usd: 2, per: 'day' },
    },
  ])
  const store = bench.replica('one')
  const memory = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
  const before = await memory()
  const USERS = 2_000
  for (let user = 0; user < USERS; user++) {
    const rules = ofUser({ user: `someone-${user}@example.com` })
    const id = `u${user}`
    const estimate = { tokens: 10, nanos: 1_000_000 }
    await store.admit({ tenant: 'acme', id, rules, estimate })
    const { budget, scoped } = rules
    await store.settle({ tenant: 'acme', id, used: estimate, budget, scoped })
  }
  const each = ((await memory()) - before) / USERS
  assert.ok(each > 0 && each < 1024, `${each} bytes`)
  const keys = await client.keys('*')
  assert.ok(keys.length >= USERS)
  assert.ok(keys.every((key) => !key.includes('someone')))
})
