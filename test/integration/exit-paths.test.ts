/**
 * A request leaves nothing behind, however it ends. Tested first without sockets and many times,
 * then with the real gateway over real sockets.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { cases } from '../helpers/cases.ts'
import { aRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'
import { type Draw, MISTAKES, MOMENTS } from './faults/abandoned.ts'
import { heapBytes } from './faults/collected.ts'
import { EXIT_PATHS } from './faults/endings.ts'
import { type Gauges, type Rig, startRig } from './faults/rig.ts'
import { type Simulation, SLOTS, simulate } from './faults/simulated-gateway.ts'

const SIMULATED = cases(8000, 20_000)
const ABORTS = cases(2000, 20_000)
const AT_ONCE = 50
const SEED = 20_261_121
/** The possible growth of compiled code and the trace ring after warming up. */
const HEAP_GROWTH_MAX = 2_000_000
const ROUNDS_MAX = 3

const NOTHING = {
  visits: 0,
  deadlines: 0,
  exchanges: 0,
  upstreamInFlight: 0,
  openBreakers: 0,
  requestsInFlight: 0,
  streamsOpen: 0,
}

async function livedOut(
  simulation: Simulation,
  live: (typeof MOMENTS)[number]['live'],
  draw: Draw,
): Promise<void> {
  const call = await live(simulation, draw)
  await call.served
  // The connection of a whole answer closes in the next turn.
  call.wire.blocked = false
  call.wire.destroy()
  await turn()
}

describe('without sockets', () => {
  for (const { name, live, blameless } of MOMENTS) {
    const unblamed = blameless ? ', and no breaker counts it' : ''
    test(`${name}: nothing is left${unblamed}`, async () => {
      const simulation = simulate(blameless && 1)
      await livedOut(simulation, live, aRandom(SEED))
      assert.deepEqual(simulation.leftovers(), NOTHING)
    })
  }

  for (const { name, live } of MISTAKES) {
    test(`a mistake ${name}: nothing is left`, async () => {
      const simulation = simulate()
      await livedOut(simulation, live, aRandom(SEED))
      assert.deepEqual(simulation.leftovers(), NOTHING)
    })
  }

  test(`${SIMULATED} requests that end at random moments leave nothing`, async (context) => {
    const simulation = simulate()
    const draw = aRandom(SEED)
    const run = async (count: number) => {
      for (let done = 0; done < count; done++) {
        const { live } = MOMENTS[draw(MOMENTS.length)] as (typeof MOMENTS)[number]
        await livedOut(simulation, live, draw)
      }
    }
    await run(SIMULATED / 4)
    const growth: number[] = []
    // Compilation makes the heap grow once and sometimes late; a leak makes it grow every time.
    while (growth.length < ROUNDS_MAX && !growth.some((bytes) => bytes < HEAP_GROWTH_MAX)) {
      const before = await heapBytes()
      const began = performance.now()
      await run(SIMULATED)
      const seconds = (performance.now() - began) / 1000
      const grown = (await heapBytes()) - before
      context.diagnostic(`${SIMULATED} in ${seconds.toFixed(1)} s, heap grew by ${grown} bytes`)
      growth.push(grown)
    }
    assert.deepEqual(simulation.leftovers(), NOTHING)
    assert.ok(Math.min(...growth) < HEAP_GROWTH_MAX, `the heap grew by ${growth} bytes`)
    await everySlotIsFree(simulation)
  })
})

/** Admits as many requests at once as there are slots: each reaches an upstream. */
async function everySlotIsFree(simulation: Simulation): Promise<void> {
  simulation.onDispatch = () => {}
  const calls = Array.from({ length: SLOTS }, () => simulation.call(Buffer.from(PLAIN)))
  for (const call of calls) call.sendAll()
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.equal(simulation.open.size, SLOTS)
  for (const call of calls) call.leave()
  await Promise.all(calls.map(({ served }) => served))
}

const PLAIN = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}'

/**
 * Two routes to the same upstreams; the primary's breaker must stay closed unless the primary
 * fails.
 */
function startExitRig(): Promise<Rig> {
  // Longer than a pause of a busy machine, so that no innocent request reaches the timeout.
  const clocks = { timeout_seconds: 5, idle_timeout_seconds: 5 }
  const route = { strategy: 'primary_with_fallback', primary: 'primary', fallback: ['fallback'] }
  return startRig({
    upstreams: {
      primary: { ...clocks, circuit_breaker: { failure_threshold: 1, open_duration_seconds: 1 } },
      fallback: { circuit_breaker: { failure_threshold: 1 }, max_queue_depth: 1000 },
    },
    routes: [
      { ...route, name: 'chat', retry: { max_attempts: 3 } },
      { ...route, name: 'brief', retry: { max_attempts: 3 }, timeout_seconds: 5 },
      { ...route, name: 'hasty', retry: { max_attempts: 3 }, timeout_seconds: 1 },
    ],
    gateway: { sse: { heartbeat_seconds: 1 } },
    collects: true,
  })
}

describe('at the real gateway', () => {
  let rig: Rig
  before(async () => {
    rig = await startExitRig()
  })
  after(() => rig.stop())

  async function breakerOf(upstream: string): Promise<string> {
    const gauges = await rig.gauges()
    const states = ['closed', 'half_open', 'open']
    const isIn = (state: string) =>
      gauges.sum('gw_breaker_state', `upstream="${upstream}",state="${state}"`) === 1
    return states.find(isIn) ?? 'none'
  }

  /** An open breaker closes with the first answer after its time. */
  async function closeBreakers(): Promise<void> {
    rig.service('primary').deed = () => ({ does: 'answer' })
    await until('the breaker is closed', async () => {
      const socket = rig.open(rig.bytes('chat'))
      await socket.until(() => socket.answers.length === 1)
      socket.leave()
      return (await breakerOf('primary')) === 'closed'
    })
  }

  for (const { name, walk, blameless } of EXIT_PATHS) {
    test(`${name}: nothing is left`, { timeout: 300_000 }, async () => {
      await closeBreakers()
      await walk(rig)
      await rig.atRest()
      if (blameless) assert.equal(await breakerOf('primary'), 'closed')
      assert.equal(await breakerOf('fallback'), 'closed')
    })
  }

  test(`${ABORTS} aborts at random moments: sockets, timers and heap are as before`, async (t) => {
    await closeBreakers()
    const draw = aRandom(SEED)
    await abortMany(rig, ABORTS / 4, draw)
    const before = await settled(rig)
    const began = performance.now()
    await abortMany(rig, ABORTS, draw)
    const seconds = (performance.now() - began) / 1000
    // A connection whose request was refused may linger for seconds; a leak stays forever.
    let left: Partial<typeof before> = {}
    const isAsBefore = async () => {
      left = resourcesOf(await rig.gauges())
      return KINDS.every((kind) => Number(left[kind]) <= before[kind])
    }
    await until('nothing is left', isAsBefore, 120).catch((cause: unknown) => {
      throw new Error(JSON.stringify({ before, left }), { cause })
    })
    const now = await settled(rig)
    t.diagnostic(`${ABORTS} in ${seconds.toFixed(1)} s; ${JSON.stringify({ before, now })}`)
    assert.ok(now.heap - before.heap < PROCESS_GROWTH_MAX, 'the heap has grown')
    assert.equal(await breakerOf('primary'), 'closed')
  })

  test('a drain ends requests in flight, and the process exits normally', async () => {
    rig.service('primary').deed = () => ({ does: 'answer', manner: { endlessMs: 10 } })
    const stream = rig.open(rig.bytes('chat', { stream: true }))
    assert.ok(await stream.until(() => stream.heard.includes('"word "')))
    rig.gateway.signal('SIGTERM')
    await until('it drains', () => rig.gateway.output().includes('Draining'))
    // The second signal ends the wait for requests in flight.
    rig.gateway.signal('SIGTERM')
    assert.ok(await stream.closes())
    assert.match(stream.heard, /ERR_GW_STREAM_ABORTED/)
    assert.ok(!stream.heard.endsWith('0\r\n\r\n'), 'a cut stream does not end normally')
    assert.deepEqual(await rig.gateway.exited, { code: 0, signal: null })
    await until('the upstream request is aborted', () => rig.service('primary').inFlight === 0)
    await until('its connections are closed', () => rig.provider.sockets() === 0)
  })
})

/** Compiled code and similar; a leak of a kilobyte a request would be as large. */
const PROCESS_GROWTH_MAX = 2_000_000
const WAYS = ['leave', 'reset'] as const

async function abortMany(rig: Rig, count: number, draw: Draw): Promise<void> {
  const deeds = [{ endlessMs: 5 }, { slowMs: 50 }, {}, { floodBytes: 20_000 }]
  rig.service('primary').deed = () => ({
    does: 'answer',
    manner: deeds[draw(deeds.length)] ?? {},
  })
  let left = count
  const one = async () => {
    while (left-- > 0) {
      const bytes = rig.bytes('chat', { stream: draw(4) > 0 })
      const end = draw(4) === 0 ? draw(bytes.length) : bytes.length
      const socket = rig.open(bytes.slice(0, end))
      const heard = draw(3) * draw(2000)
      if (end === bytes.length) await socket.until(() => socket.heard.length >= heard, 0.1)
      else await turn()
      socket[WAYS[draw(2)] ?? 'leave']()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  await rig.atRest()
}

/** After idle connections to the upstream have closed; the smallest of several heaps. */
async function settled(rig: Rig) {
  await until('connections to the upstream are closed', () => rig.provider.sockets() === 0)
  const heaps = []
  for (let sample = 0; sample < 8; sample++) {
    rig.gateway.signal('SIGUSR2')
    heaps.push((await rig.gauges()).sum('nodejs_heap_size_used_bytes'))
  }
  return { ...resourcesOf(await rig.gauges()), heap: Math.min(...heaps) }
}

const KINDS = ['sockets', 'timers', 'writes'] as const

function resourcesOf(gauges: Gauges): Readonly<Record<(typeof KINDS)[number], number>> {
  return {
    sockets: gauges.resources('TCPSocketWrap'),
    timers: gauges.resources('Timeout'),
    writes: gauges.resources('WriteWrap') + gauges.resources('SimpleWriteWrap'),
  }
}
