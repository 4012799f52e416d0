/**
 * The link under faults of the server or the network: bounded waits, then none, and a quick
 * recovery.
 */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { recordResult } from '../../helpers/results.ts'
import { until } from '../../helpers/until.ts'
import { type ALink, aLink, count, refusal } from './a-link.ts'
import { type FaultProxy, startFaultProxy } from './tcp-fault.ts'
import { atLength, bestTry } from './tries.ts'

const TIMEOUT_MS = 50
/** The interval of requests: 200 a second. */
const PACE_MS = 5
const REQUESTS = atLength(200, 1_200)
/** On a machine that is too busy for the pace. */
const OUTAGE_MS_MAX = 45_000

let server: RedisServer
let proxy: FaultProxy
before(async () => {
  server = await startRedis()
  proxy = await startFaultProxy(server.socket)
})
after(async () => {
  await proxy.close()
  await server.stop()
})

interface Fault {
  readonly name: string
  begin(): unknown
  heal(): unknown
  readonly reasons: readonly string[]
}

const FAULTS: readonly Fault[] = [
  {
    name: 'the server is frozen',
    begin: () => server.signal('SIGSTOP'),
    heal: () => server.signal('SIGCONT'),
    reasons: ['timeout', 'open'],
  },
  {
    name: 'the network swallows everything',
    begin: () => {
      proxy.fault = 'swallow'
    },
    heal: () => {
      proxy.fault = 'none'
    },
    reasons: ['timeout', 'open'],
  },
  {
    name: 'the network resets everything',
    begin: () => {
      proxy.fault = 'reset'
    },
    heal: () => {
      proxy.fault = 'none'
    },
    reasons: ['connection', 'open'],
  },
  {
    name: 'the server is killed, and started again',
    begin: () => server.signal('SIGKILL'),
    heal: async () => {
      server = await server.restart()
    },
    reasons: ['connection', 'open'],
  },
  {
    name: 'the server has become a replica',
    begin: () => server.ask('REPLICAOF', '127.0.0.1', '1'),
    heal: () => server.ask('REPLICAOF', 'NO', 'ONE'),
    reasons: ['readonly', 'open'],
  },
  {
    name: 'the server is out of memory',
    begin: () => server.ask('CONFIG', 'SET', 'maxmemory', '1'),
    heal: () => server.ask('CONFIG', 'SET', 'maxmemory', '0'),
    reasons: ['oom', 'open'],
  },
  {
    name: 'the user may no longer write',
    begin: () => server.ask('ACL', 'SETUSER', 'default', '-@write'),
    heal: () => server.ask('ACL', 'SETUSER', 'default', '+@all'),
    reasons: ['noperm', 'open'],
  },
]

for (const fault of FAULTS) {
  test(`${fault.name}: at most 20 wait, at most 60 ms; then none; back within 2 s`, async (context) => {
    const seen = await bestTry(
      () => suffer(fault, context),
      (one) => isBounded({ ...one, lagMs: 0 }),
    )
    const decisions = `${seen.waited} waited, at most ${seen.longestMs.toFixed(0)} ms, then ${seen.middleMs.toFixed(2)} ms`
    recordResult('link', `${decisions}; back after ${seen.backMs.toFixed(0)} ms`, fault.name)
    assert.ok(isBounded(seen), JSON.stringify(seen))
  })
}

interface Suffered {
  /** Requests that were not refused at once. */
  readonly waited: number
  readonly longestMs: number
  /** The median wait of requests that were refused at once. */
  readonly middleMs: number
  readonly backMs: number
  /** The longest delay of this process itself. */
  readonly lagMs: number
}

/** As promised, except for this process's own delay. */
function isBounded({ waited, longestMs, middleMs, backMs, lagMs }: Suffered): boolean {
  const isShort = waited >= 1 && waited <= 20 && longestMs <= 60 + 2 * lagMs
  return isShort && middleMs <= 1 && backMs <= 2000 + 2 * lagMs
}

async function suffer({ begin, heal, reasons }: Fault, context: TestContext): Promise<Suffered> {
  const link = await aLink(`redis://127.0.0.1:${proxy.port}`, { timeoutMs: TIMEOUT_MS })
  try {
    await untilCounted(link)
    const toldBefore = link.changes.length
    const lag = monitorEventLoopDelay({ resolution: 1 })
    lag.enable()
    await begin()
    const heard = await paced(link)
    await heal()
    const healedAt = performance.now()
    await untilCounted(link)
    const backMs = performance.now() - healedAt
    lag.disable()
    const failed = heard.filter(({ reason }) => reason !== 'none')
    const waited = failed.filter(({ reason }) => reason !== 'open')
    const atOnce = failed.filter(({ reason }) => reason === 'open').map(({ ms }) => ms)
    const strange = failed.filter(({ reason }) => !reasons.includes(reason))
    assert.deepEqual(strange, [])
    assert.ok(atOnce.length >= heard.length - 40, `${atOnce.length} were refused at once`)
    assert.deepEqual(link.changes.slice(toldBefore, toldBefore + 2), ['away', 'up'])
    const seen = {
      waited: waited.length,
      longestMs: Math.max(...failed.map(({ ms }) => ms)),
      middleMs: atOnce.toSorted((one, other) => one - other)[atOnce.length >> 1] ?? 9,
      backMs,
      lagMs: lag.max / 1e6,
    }
    context.diagnostic(JSON.stringify(seen))
    return seen
  } finally {
    link.close()
  }
}

async function untilCounted(link: ALink): Promise<void> {
  await until('it answers', async () => (await refusal(count(link))).reason === 'none', 30)
}

async function paced(link: ALink): Promise<{ reason: string; ms: number }[]> {
  const asked = []
  const endsAt = performance.now() + OUTAGE_MS_MAX
  while (asked.length < REQUESTS && (asked.length < 100 || performance.now() < endsAt)) {
    asked.push(refusal(count(link)))
    await delay(PACE_MS)
  }
  return await Promise.all(asked)
}

test('scripts that the server lost are sent again, and no request fails', async (context) => {
  const link = await aLink(`unix://${server.socket}`)
  context.after(() => link.close())
  const key = 'gw:v1:{flush}:n'
  for (let round = 1; round <= 20; round++) {
    await server.ask('SCRIPT', 'FLUSH')
    assert.equal(await count(link, key), round)
  }
  assert.deepEqual(link.failures, [])
})

test('a slow server is used as long as it answers in time', async (context) => {
  const slow = await startFaultProxy(server.socket)
  context.after(() => slow.close())
  slow.delayMs = 40
  const link = await aLink(`redis://127.0.0.1:${slow.port}`, { timeoutMs: 10_000 })
  context.after(() => link.close())
  const answers = await Promise.all(Array.from({ length: 50 }, () => refusal(count(link))))
  assert.ok(answers.every(({ reason }) => reason === 'none'))
})

test('a lost answer is never requested again', async (context) => {
  const lossy = await startFaultProxy(server.socket)
  context.after(() => lossy.close())
  const link = await aLink(`redis://127.0.0.1:${lossy.port}`, { timeoutMs: 1_000 })
  context.after(() => link.close())
  const key = 'gw:v1:{lost}:n'
  assert.equal(await count(link, key), 1)
  lossy.losses = Number.POSITIVE_INFINITY
  assert.equal((await refusal(count(link, key))).reason, 'timeout')
  lossy.losses = 0
  lossy.cut()
  await untilCounted(link)
  assert.equal(await count(link, key), 3)
})

test('a failing script is an answer of a reachable server: the breaker stays closed', async (context) => {
  const link = await aLink(`unix://${server.socket}`)
  context.after(() => link.close())
  await server.ask('LPUSH', 'gw:v1:{planted}:n', 'x')
  for (let asked = 0; asked < 10; asked++) {
    assert.equal((await refusal(count(link, 'gw:v1:{planted}:n'))).reason, 'other')
  }
  assert.equal(await count(link), await count(link).then((last) => last - 1))
  assert.deepEqual(link.changes, ['up'])
})

test('a flapping server must work for twice as long each time', async (context) => {
  const flapping = await startFaultProxy(server.socket)
  context.after(() => flapping.close())
  // Long enough for every good probe: only the faults count.
  const link = await aLink(`redis://127.0.0.1:${flapping.port}`, { timeoutMs: 5_000 })
  context.after(() => link.close())
  for (let flap = 0; flap < 3; flap++) {
    flapping.fault = 'reset'
    await until('it is away', async () => (await refusal(count(link))).reason === 'open', 30)
    flapping.fault = 'none'
    await untilCounted(link)
  }
  assert.deepEqual(link.probes, [1, 3, 6, 12])
})
