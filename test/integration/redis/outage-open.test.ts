/** `fail_open: true`: no client notices that the store is away, and the books are right once it is back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { recordResult } from '../../results.ts'
import { startUpstream } from '../fake-upstream.ts'
import { until } from '../gateway-process.ts'
import { ANSWER_TOKENS, keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { type RedisServer, startRedis } from './redis-server.ts'
import { loggedStates, pacedChats, startShared, statuses, untilStore } from './shared-gateways.ts'
import { type FaultProxy, startFaultProxy } from './tcp-fault.ts'

const REQUESTS = 300
const EVERY_MS = 5

const upstream = await startUpstream()
const tenants = ['frozen', 'swallowed', 'reset', 'killed', 'replica', 'full', 'denied', 'flushed']
const keys = keysOf(tenants)
let server: RedisServer
let proxy: FaultProxy
before(async () => {
  server = await startRedis()
  proxy = await startFaultProxy(server.socket)
})
after(async () => {
  await proxy.close()
  await server.stop()
  await upstream.close()
})

interface Fault {
  readonly tenant: string
  readonly name: string
  begin(): unknown
  heal(): unknown
  /** Whether the gateway is to notice anything. */
  readonly isNoticed: boolean
}

const FAULTS: readonly Fault[] = [
  {
    tenant: 'frozen',
    name: 'B1 frozen',
    begin: () => server.signal('SIGSTOP'),
    heal: () => server.signal('SIGCONT'),
    isNoticed: true,
  },
  {
    tenant: 'swallowed',
    name: 'B2 black-holed',
    begin: () => {
      proxy.fault = 'swallow'
    },
    heal: () => {
      proxy.fault = 'none'
    },
    isNoticed: true,
  },
  {
    tenant: 'reset',
    name: 'B2 reset',
    begin: () => {
      proxy.fault = 'reset'
    },
    heal: () => {
      proxy.fault = 'none'
    },
    isNoticed: true,
  },
  {
    tenant: 'killed',
    name: 'B2 B9 killed, and started again with nothing',
    begin: () => server.signal('SIGKILL'),
    heal: async () => {
      server = await server.restart()
    },
    isNoticed: true,
  },
  {
    tenant: 'replica',
    name: 'B7 read-only',
    begin: () => server.ask('REPLICAOF', '127.0.0.1', '1'),
    heal: () => server.ask('REPLICAOF', 'NO', 'ONE'),
    isNoticed: true,
  },
  {
    tenant: 'full',
    name: 'B11 out of memory',
    begin: () => server.ask('CONFIG', 'SET', 'maxmemory', '1'),
    heal: () => server.ask('CONFIG', 'SET', 'maxmemory', '0'),
    isNoticed: true,
  },
  {
    tenant: 'denied',
    name: 'B11 without permission',
    begin: () => server.ask('ACL', 'SETUSER', 'default', '-@write'),
    heal: () => server.ask('ACL', 'SETUSER', 'default', '+@all'),
    isNoticed: true,
  },
  {
    tenant: 'flushed',
    name: 'B7 B9 flushed, scripts and all',
    begin: async () => {
      await server.ask('SCRIPT', 'FLUSH')
      await server.ask('FLUSHALL')
    },
    heal: () => undefined,
    isNoticed: false,
  },
]

for (const { tenant, name, begin, heal, isNoticed } of FAULTS) {
  test(`${name}: every client is served, and what they used is counted once`, async (context) => {
    const gateway = await startShared({
      url: `redis://127.0.0.1:${proxy.port}`,
      failOpen: true,
      upstream,
      keys,
      budgets: [{ tenant, tokens_per_day: 1_000_000_000 }],
    })
    context.after(() => gateway.stop())
    const front = gateway.as(tenant)
    const served = upstream.asked.length
    const load = pacedChats([front], { requests: REQUESTS, everyMs: EVERY_MS })
    await until('some are served', () => upstream.asked.length > served + 20)
    await begin()
    if (isNoticed) await untilStore(front, 'away')
    const told = await load
    const slowest = Math.max(...told.map(({ ms }) => ms))
    await heal()
    const healedAt = performance.now()
    await untilStore(front, 'up')
    const backMs = performance.now() - healedAt
    const local = await front.value('gw_store_local_admissions_total')
    context.diagnostic(
      `${local} of ${REQUESTS} from the local share, slowest ${slowest.toFixed(0)} ms, back after ${backMs.toFixed(0)} ms`,
    )
    const failed = told.filter(({ status }) => status !== 200).length
    const figures = `${failed} client errors, back after ${backMs.toFixed(0)} ms`
    recordResult('outage', figures, `fail_open, ${name}`)
    assert.deepEqual(statuses(told), { 200: REQUESTS })
    assert.ok(!isNoticed || local > 0)
    assert.ok(backMs <= 2000, `${backMs} ms`)
    await until('all is settled', async () => {
      return (await front.value('gw_store_settlements_waiting')) === 0
    })
    await untilIdle(front, tenant)
    const { tokens_per_day } = await standing(front, tenant)
    assert.equal(tokens_per_day.used, REQUESTS * ANSWER_TOKENS)
    const states = isNoticed ? 'up,away,up' : 'up'
    await until('it is logged', () => loggedStates(front).join().startsWith(states))
  })
}

test('without a store at the start the gateway serves, and counts there once it comes', async (context) => {
  const absent = await startRedis()
  context.after(() => absent.stop())
  absent.signal('SIGKILL')
  await absent.exited
  const gateway = await startShared({
    url: `unix://${absent.socket}`,
    failOpen: true,
    upstream,
    keys,
    budgets: [{ tenant: 'reset', tokens_per_day: 1_000 }],
  })
  context.after(() => gateway.stop())
  const front = gateway.as('reset')
  assert.equal((await front.chat()).status, 200)
  assert.deepEqual(loggedStates(front), ['away'])
  const again = await absent.restart()
  context.after(() => again.stop())
  await untilStore(front, 'up')
  await until('what was used is told', async () => {
    return (await standing(front, 'reset')).tokens_per_day.used === ANSWER_TOKENS
  })
  assert.equal((await front.chat()).status, 200)
})
