/** What the link does when the server or the network fails: bounded waits, then none, and back soon after it heals. */
import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { recordResult } from '../../results.ts'
import { until } from '../gateway-process.ts'
import { type ALink, aLink, COUNT, count, refusal } from './a-link.ts'
import { type RedisServer, startRedis } from './redis-server.ts'
import { type FaultProxy, startFaultProxy } from './tcp-fault.ts'

const TIMEOUT_MS = 50
/** A request each so often: 200 a second. */
const PACE_MS = 5
const REQUESTS = 200

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
    name: 'B1 the server is frozen',
    begin: () => server.signal('SIGSTOP'),
    heal: () => server.signal('SIGCONT'),
    reasons: ['timeout', 'open'],
  },
  {
    name: 'B2 the network swallows everything',
    begin: () => {
      proxy.fault = 'swallow'
    },
    heal: () => {
      proxy.fault = 'none'
    },
    reasons: ['timeout', 'open'],
  },
  {
    name: 'B2 the network resets everything',
    begin: () => {
      proxy.fault = 'reset'
    },
    heal: () => {
      proxy.fault = 'none'
    },
    reasons: ['connection', 'open'],
  },
  {
    name: 'B2 the server is killed, and started again',
    begin: () => server.signal('SIGKILL'),
    heal: async () => {
      server = await server.restart()
    },
    reasons: ['connection', 'open'],
  },
  {
    name: 'B7 the server has become a replica',
    begin: () => server.ask('REPLICAOF', '127.0.0.1', '1'),
    heal: () => server.ask('REPLICAOF', 'NO', 'ONE'),
    reasons: ['readonly', 'open'],
  },
  {
    name: 'B11 the server is out of memory',
    begin: () => server.ask('CONFIG', 'SET', 'maxmemory', '1'),
    heal: () => server.ask('CONFIG', 'SET', 'maxmemory', '0'),
    reasons: ['oom', 'open'],
  },
  {
    name: 'B11 the user may no longer write',
    begin: () => server.ask('ACL', 'SETUSER', 'default', '-@write'),
    heal: () => server.ask('ACL', 'SETUSER', 'default', '+@all'),
    reasons: ['noperm', 'open'],
  },
]

for (const { name, begin, heal, reasons } of FAULTS) {
  test(`${name}: at most 20 wait, at most 60 ms; then nobody; back within 2 s`, async (context) => {
    const link = await aLink(`redis://127.0.0.1:${proxy.port}`, { timeoutMs: TIMEOUT_MS })
    context.after(() => link.close())
    await count(link)
    await begin()
    const lag = monitorEventLoopDelay({ resolution: 1 })
    lag.enable()
    const heard = await paced(link)
    lag.disable()
    const lagMs = lag.max / 1e6
    const failed = heard.filter(({ reason }) => reason !== 'none')
    const waited = failed.filter(({ reason }) => reason !== 'open')
    const afterwards = failed.filter(({ reason }) => reason === 'open').map(({ ms }) => ms)
    await heal()
    const healedAt = performance.now()
    await until('it answers', async () => (await refusal(count(link))).reason === 'none')
    const backMs = performance.now() - healedAt
    const longest = Math.max(...failed.map(({ ms }) => ms))
    const middle = afterwards.toSorted((one, other) => one - other)[afterwards.length >> 1] ?? 9
    context.diagnostic(
      `${waited.length} waited, longest ${longest.toFixed(1)} ms, then ${middle.toFixed(3)} ms; back after ${backMs.toFixed(0)} ms; loop lag ${lagMs.toFixed(1)} ms`,
    )
    const decisions = `${waited.length} waited, at most ${longest.toFixed(0)} ms, then ${middle.toFixed(2)} ms`
    recordResult('outage', `${decisions}; back after ${backMs.toFixed(0)} ms`, name)
    const seen = new Set(failed.map(({ reason }) => reason))
    assert.ok(
      [...seen].every((reason) => reasons.includes(reason)),
      [...seen].join(),
    )
    assert.ok(waited.length >= 1 && waited.length <= 20, `${waited.length} waited`)
    assert.ok(longest <= 60 + lagMs, `${longest} ms`)
    assert.ok(afterwards.length >= REQUESTS - 40 && middle <= 1, `${middle} ms`)
    assert.ok(backMs <= 2000, `${backMs} ms`)
    assert.deepEqual(link.told, ['up', 'away', 'up'])
  })
}

async function paced(link: ALink): Promise<{ reason: string; ms: number }[]> {
  const asked = []
  for (let sent = 0; sent < REQUESTS; sent++) {
    asked.push(refusal(count(link)))
    await delay(PACE_MS)
  }
  return await Promise.all(asked)
}

test('B7 scripts that the server forgot are sent again, and nobody notices', async (context) => {
  const link = await aLink(`unix://${server.socket}`)
  context.after(() => link.close())
  const key = 'gw:v1:{flush}:n'
  for (let round = 1; round <= 20; round++) {
    await server.ask('SCRIPT', 'FLUSH')
    assert.equal(await count(link, key), round)
  }
  assert.deepEqual(link.failures, [])
})

test('a slow server is asked as long as it answers in time', async (context) => {
  const slow = await startFaultProxy(server.socket)
  context.after(() => slow.close())
  slow.delayMs = 40
  const link = await aLink(`redis://127.0.0.1:${slow.port}`, { timeoutMs: 500 })
  context.after(() => link.close())
  const answers = await Promise.all(Array.from({ length: 50 }, () => refusal(count(link))))
  assert.ok(answers.every(({ reason }) => reason === 'none'))
})

test('an answer that is lost is never asked for twice', async (context) => {
  const lossy = await startFaultProxy(server.socket)
  context.after(() => lossy.close())
  const link = await aLink(`redis://127.0.0.1:${lossy.port}`, { timeoutMs: 100 })
  context.after(() => link.close())
  const key = 'gw:v1:{lost}:n'
  assert.equal(await count(link, key), 1)
  lossy.losses = 1
  assert.equal((await refusal(count(link, key))).reason, 'timeout')
  lossy.cut()
  await until(
    'it answers',
    async () => (await refusal(link.link.run(COUNT, ['o:{o}'], [0]))).reason === 'none',
  )
  assert.equal(await count(link, key), 3)
})

test('a script that fails is the answer of a server that is there: the breaker stays closed', async (context) => {
  const link = await aLink(`unix://${server.socket}`)
  context.after(() => link.close())
  await server.ask('LPUSH', 'gw:v1:{planted}:n', 'x')
  for (let asked = 0; asked < 10; asked++) {
    assert.equal((await refusal(count(link, 'gw:v1:{planted}:n'))).reason, 'other')
  }
  assert.equal(await count(link), await count(link).then((last) => last - 1))
  assert.deepEqual(link.told, ['up'])
})

test('B5 who flaps is believed later each time', async (context) => {
  const flapping = await startFaultProxy(server.socket)
  context.after(() => flapping.close())
  const link = await aLink(`redis://127.0.0.1:${flapping.port}`, { timeoutMs: TIMEOUT_MS })
  context.after(() => link.close())
  const backAfter: number[] = []
  for (let flap = 0; flap < 3; flap++) {
    flapping.fault = 'reset'
    await until('it is away', async () => (await refusal(count(link))).reason === 'open')
    flapping.fault = 'none'
    const healedAt = performance.now()
    await until('it answers', async () => (await refusal(count(link))).reason === 'none')
    backAfter.push(performance.now() - healedAt)
  }
  const [first = 0, , third = 0] = backAfter
  assert.ok(third > first * 1.5, backAfter.join(' '))
})

test('several replicas know each other, and their fractions add up to one', async (context) => {
  const keyPrefix = 'gw-fractions'
  const url = `unix://${server.socket}`
  const links = await Promise.all([1, 2, 3].map(() => aLink(url, { keyPrefix })))
  context.after(() => {
    for (const { close } of links) close()
  })
  for (const [index, { replicas }] of links.entries()) replicas.admissions = index * 100
  const whole = () => links.reduce((sum, { replicas }) => sum + replicas.fraction, 0)
  await until('all have told all', () => {
    const counts = links.map(({ replicas }) => replicas.count)
    return counts.every((known) => known === 3) && Math.abs(whole() - 1) < 0.02
  })
  const [idle, , busy] = links.map(({ replicas }) => replicas.fraction)
  assert.ok((busy ?? 0) > 0.6 && (idle ?? 1) < 0.02, `${busy} ${idle}`)
  const [one] = links
  await one?.replicas.leave(one.link.run.bind(one.link))
  one?.close()
  await until('it has left', () => links[1]?.replicas.count === 2, 20)
})
