/**
 * The store needs little from a server: keys of one slot, few permissions, and an expiry on every
 * key.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import type { Link } from '../../../dataplane/store/redis/link.ts'
import { aClock } from '../../helpers/clock.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, tokens } from '../../helpers/store/world.ts'
import { until } from '../../helpers/until.ts'
import { aStore, openLink } from './store-world.ts'

const LONG = 'long '.repeat(200)
const TENANTS = ['acme', '', '{', '}', '{}', 'a}b{c', 'über', 'a b\r\nc', '%', '\ud800', LONG]

const BUDGET = aBudget({ tokensPerDay: 100, nanosPerMonth: 1_000, alertThresholds: [0.1] })
const RULES = aRule({ tokensPerMinute: 1_000, burst: 3, budget: BUDGET })

/** Every script, with its rare cases: expiry, a late settlement, a restored lease, a flush. */
async function useAll(
  link: Link,
  { tenant, keyPrefix = 'gw' }: { tenant: string; keyPrefix?: string },
  flush: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const clock = aClock()
  const store = aStore(atTime(link, clock.wall), { keyPrefix, clock })
  const admit = (id: string) => store.admit({ tenant, id, rules: RULES, estimate: tokens(10) })
  for (const id of ['a', 'b', 'c', 'd']) await admit(id)
  await store.extend({ tenant, id: 'a', budget: BUDGET, estimate: tokens(15) })
  await store.renew([{ tenant, id: 'a', used: tokens(5) }])
  await store.settle({ tenant, id: 'b', used: tokens(20), budget: BUDGET })
  clock.pass(15_000)
  await store.read(tenant, RULES)
  await store.settle({ tenant, id: 'a', used: tokens(7), budget: BUDGET })
  await store.renew([{ tenant, id: 'c', used: tokens(1) }])
  await flush()
  await store.renew([{ tenant, id: 'c', used: tokens(2) }])
  await store.settle({ tenant, id: 'c', used: tokens(2), budget: BUDGET })
  assert.equal((await store.read(tenant, RULES)).tokens?.settled, 29)
}

async function on(
  args: readonly string[],
  use: (server: RedisServer) => Promise<void>,
): Promise<void> {
  const server = await startRedis({ args })
  try {
    await use(server)
  } finally {
    await server.stop()
  }
}

test('all keys of a call are in one slot of a cluster, for any tenant name', async () => {
  await on(['--cluster-enabled', 'yes'], async (server) => {
    await server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    const isWhole = async () => (await server.ask('CLUSTER', 'INFO')).includes('cluster_state:ok')
    await until('the cluster has all slots', isWhole)
    const link = openLink(server)
    const calls: (readonly string[])[] = []
    const clock = aClock()
    const timed = atTime(link, clock.wall)
    const recording: Link = {
      run: (script, keys, args) => {
        calls.push(keys)
        return timed.run(script, keys, args)
      },
    }
    for (const tenant of TENANTS) {
      await useAll(recording, { tenant }, () => link.client.flushall())
      await link.client.flushall()
    }
    for (const keys of calls) {
      const slots = new Set<unknown>()
      for (const key of keys) slots.add(await link.client.cluster('KEYSLOT', key))
      assert.equal(slots.size, 1, keys.join(' '))
      for (const key of keys) assert.ok(key.length < 160 && /^[\x21-\x7e]+$/.test(key), key)
    }
    assert.equal(new Set(calls.map(([first]) => first)).size, TENANTS.length)
    link.close()
  })
})

test('every key has a prefix, a version and an expiry, and the call has declared it', async () => {
  await on([], async (server) => {
    const link = openLink(server)
    const declared = new Set<string>()
    const clock = aClock()
    const timed = atTime(link, clock.wall)
    const recording: Link = {
      run: (script, keys, args) => {
        for (const key of keys) declared.add(key)
        return timed.run(script, keys, args)
      },
    }
    const store = aStore(recording, { keyPrefix: 'shop', clock })
    for (const id of ['a', 'b', 'c']) {
      await store.admit({ tenant: 'acme', id, rules: RULES, estimate: tokens(10) })
    }
    await store.settle({ tenant: 'acme', id: 'a', used: { tokens: 1, nanos: 1 }, budget: BUDGET })
    clock.pass(15_000)
    await store.read('acme', RULES)
    await store.admit({ tenant: 'acme', id: 'd', rules: RULES, estimate: tokens(1) })
    const keys = await link.client.keys('*')
    assert.deepEqual(
      keys.toSorted(),
      ['day:2026-11-21', 'graves', 'leases', 'month:2026-11', 'state'].map(
        (name) => `shop:v1:{acme}:${name}`,
      ),
    )
    for (const key of keys) {
      assert.ok(declared.has(key), key)
      const left = await link.client.pttl(key)
      assert.ok(left > 0 && left <= 70 * 86_400_000, `${key} ends in ${left} ms`)
    }
    link.close()
  })
})

/** As listed in dataplane/store/docs/shared.md. */
const PERMISSIONS = [
  ...['+evalsha', '+eval', '+time', '+get', '+set', '+hget', '+hset', '+hsetnx', '+hdel'],
  ...['+hmget', '+hgetall', '+hvals', '+hlen', '+hrandfield', '+pexpire'],
]

test('a user with only the documented permissions can do everything', async () => {
  const user = ['gateway', 'on', '>secret', '~gw:*', ...PERMISSIONS]
  await on(['--user', ...user], async (server) => {
    const admin = openLink(server)
    const client = new Redis({
      path: server.socket,
      username: 'gateway',
      password: 'secret',
      enableReadyCheck: false,
      disableClientInfo: true,
      retryStrategy: () => null,
    })
    const link: Link = {
      run: ({ lua }, keys, args) => client.eval(lua, keys.length, ...keys, ...args),
    }
    try {
      await useAll(link, { tenant: 'acme' }, () => admin.client.flushall())
      await assert.rejects(
        useAll(link, { tenant: 'acme', keyPrefix: 'other' }),
        /NOPERM|permission/,
      )
      assert.deepEqual(await admin.client.keys('other*'), [])
    } finally {
      client.disconnect()
      admin.close()
    }
  })
})

test('a key of another type, a full server and a read-only one change nothing and report it', async () => {
  await on([], async (server) => {
    const link = openLink(server)
    const { client } = link
    const clock = aClock()
    const store = aStore(atTime(link, clock.wall), { clock })
    const admit = async (id: string) => {
      return await store.admit({ tenant: 'acme', id, rules: RULES, estimate: tokens(1) })
    }
    await admit('a')
    const before = await store.read('acme', RULES)
    await client.del('gw:v1:{acme}:day:2026-11-21')
    await client.lpush('gw:v1:{acme}:day:2026-11-21', 'planted')
    await assert.rejects(admit('b'), /WRONGTYPE/)
    await client.del('gw:v1:{acme}:day:2026-11-21')
    await client.config('SET', 'maxmemory', '1')
    await assert.rejects(admit('c'), /OOM/)
    await client.config('SET', 'maxmemory', '0')
    await client.replicaof('127.0.0.1', '1')
    await assert.rejects(admit('d'), /READONLY|read only/)
    await client.replicaof('NO', 'ONE')
    assert.deepEqual(await store.read('acme', RULES), before)
    link.close()
  })
})
