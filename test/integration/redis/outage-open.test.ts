/**
 * `fail_open: true`: no client notices that the store is away, and the accounts are correct after
 * it returns.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { recordResult } from '../../helpers/results.ts'
import { until } from '../../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { loggedStates, pacedChats, startShared, statuses, untilStore } from './shared-gateways.ts'
import { type FaultProxy, startFaultProxy } from './tcp-fault.ts'
import { atLength, bestTry } from './tries.ts'

const REQUESTS = atLength(300, 1_200)
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
  /** Whether the gateway should notice the fault. */
  readonly isNoticed: boolean
}

const FAULTS: readonly Fault[] = [
  {
    tenant: 'frozen',
    name: 'frozen',
    begin: () => server.signal('SIGSTOP'),
    heal: () => server.signal('SIGCONT'),
    isNoticed: true,
  },
  {
    tenant: 'swallowed',
    name: 'black-holed',
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
    name: 'reset',
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
    name: 'killed, and started again without data',
    begin: () => server.signal('SIGKILL'),
    heal: async () => {
      server = await server.restart()
    },
    isNoticed: true,
  },
  {
    tenant: 'replica',
    name: 'read-only',
    begin: () => server.ask('REPLICAOF', '127.0.0.1', '1'),
    heal: () => server.ask('REPLICAOF', 'NO', 'ONE'),
    isNoticed: true,
  },
  {
    tenant: 'full',
    name: 'out of memory',
    begin: () => server.ask('CONFIG', 'SET', 'maxmemory', '1'),
    heal: () => server.ask('CONFIG', 'SET', 'maxmemory', '0'),
    isNoticed: true,
  },
  {
    tenant: 'denied',
    name: 'without permission',
    begin: () => server.ask('ACL', 'SETUSER', 'default', '-@write'),
    heal: () => server.ask('ACL', 'SETUSER', 'default', '+@all'),
    isNoticed: true,
  },
  {
    tenant: 'flushed',
    name: 'flushed, with its scripts',
    begin: async () => {
      await server.ask('SCRIPT', 'FLUSH')
      await server.ask('FLUSHALL')
    },
    heal: () => undefined,
    isNoticed: false,
  },
]

for (const fault of FAULTS) {
  test(`${fault.name}: every client is served, and its usage is counted once`, async (context) => {
    const { calmMs, backMs } = await bestTry(
      () => suffer(fault, context),
      (seen) => seen.backMs <= 2000,
    )
    const figures = `0 client errors, back after ${backMs.toFixed(0)} ms`
    recordResult('open', figures, fault.name)
    assert.ok(isBounded({ calmMs, backMs }), `back after ${backMs} ms`)
  })
}

interface Suffered {
  /** The duration of an answer without faults. */
  readonly calmMs: number
  readonly backMs: number
}

/** Also on a busy machine. */
function isBounded({ calmMs, backMs }: Suffered): boolean {
  return backMs <= 2000 + 20 * calmMs
}

async function suffer(fault: Fault, context: TestContext): Promise<Suffered> {
  const { tenant, begin, heal, isNoticed } = fault
  const gateway = await startShared({
    url: `redis://127.0.0.1:${proxy.port}`,
    failOpen: true,
    upstream,
    keys,
    budgets: [{ tenant, tokens_per_day: 1_000_000_000 }],
  })
  const front = gateway.as(tenant)
  try {
    await untilStore(front, 'up', 30)
    const used = async () => (await standing(front, tenant)).tokens_per_day.used
    const usedBefore = await used()
    const logged = loggedStates(front).length
    const served = upstream.asked.length
    const load = pacedChats([front], { requests: REQUESTS, everyMs: EVERY_MS })
    await until('some are served', () => upstream.asked.length > served + 20)
    await begin()
    if (isNoticed) await untilStore(front, 'away', 30)
    const answers = await load
    assert.deepEqual(statuses(answers), { 200: REQUESTS })
    await heal()
    const healedAt = performance.now()
    await untilStore(front, 'up', 30)
    const backMs = performance.now() - healedAt
    const times = answers.map(({ ms }) => ms).sort((one, other) => one - other)
    const local = await front.value('gw_store_local_admissions_total')
    assert.ok(!isNoticed || local > 0)
    const seen = { calmMs: times[times.length >> 1] ?? 0, backMs }
    context.diagnostic(
      `${local} of ${REQUESTS} from the local share, slowest ${times.at(-1)?.toFixed(0)} ms, ${JSON.stringify(seen)}`,
    )
    await until(
      'all is settled',
      async () => {
        return (await front.value('gw_store_settlements_waiting')) === 0
      },
      60,
    )
    await untilIdle(front, tenant)
    const all = usedBefore + REQUESTS * ANSWER_TOKENS
    await until(`${all} tokens are settled`, async () => (await used()) === all)
    if (isNoticed) {
      await until('it is logged', () => {
        return loggedStates(front).slice(logged).join().includes('away,up')
      })
    }
    return seen
  } finally {
    await gateway.stop()
  }
}

test('without a store at the start the gateway serves requests, and counts them in the store later', async (context) => {
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
  await until('it is logged', () => loggedStates(front).length > 0)
  assert.deepEqual(loggedStates(front), ['away'])
  const again = await absent.restart()
  context.after(() => again.stop())
  await untilStore(front, 'up')
  await until('the usage has been sent', async () => {
    return (await standing(front, 'reset')).tokens_per_day.used === ANSWER_TOKENS
  })
  assert.equal((await front.chat()).status, 200)
})

test('requests that cost only the rate are answered while the store is away', async (context) => {
  const absent = await startRedis()
  context.after(() => absent.stop())
  const gateway = await startShared({
    url: `unix://${absent.socket}`,
    failOpen: true,
    upstream,
    keys,
  })
  context.after(() => gateway.stop())
  const front = gateway.as('reset')
  await untilStore(front, 'up', 30)
  absent.signal('SIGKILL')
  await absent.exited
  await untilStore(front, 'away', 30)
  const { url } = front.process
  const headers = { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' }
  const post = async (path: string, body: string) =>
    (await fetch(url + path, { method: 'POST', headers, body })).status
  const message = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] }
  assert.equal(await post('/v1/messages/count_tokens', JSON.stringify(message)), 200)
  const input = JSON.stringify({ model: 'chat', input: 'hi' })
  assert.equal(await post('/v1/responses/input_tokens', input), 200)
  assert.equal((await fetch(`${url}/v1/usage`, { headers })).status, 200)
  const large = { ...message, messages: 'x'.repeat(1_000_000) }
  assert.equal(await post('/v1/chat/completions', JSON.stringify(large)), 400)
})
