/**
 * C1 to C11: however a request ends, nothing of it is left. First without sockets and in great
 * numbers, then at the real gateway over real ones.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Draw, MISTAKES, MOMENTS } from './faults/abandoned.ts'
import { heapBytes } from './faults/collected.ts'
import { aRandom } from './faults/random.ts'
import { SLOTS, type Simulation, simulate } from './faults/simulated-gateway.ts'

const SIMULATED = 20_000
const ABORTS = process.env.GW_LONG ? 20_000 : 2000
const AT_ONCE = 50
const SEED = 20_261_121
/** What the JIT and the trace ring may still grow by once both are warm. */
const HEAP_GROWTH_MAX = 2_000_000

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
  // The connection of an answer that was whole closes with the next turn.
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
    test(`C10 a mistake ${name}: nothing is left`, async () => {
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
    const before = await heapBytes()
    const began = performance.now()
    await run(SIMULATED)
    const seconds = (performance.now() - began) / 1000
    const grown = (await heapBytes()) - before
    context.diagnostic(`${SIMULATED} in ${seconds.toFixed(1)} s, heap grew by ${grown} bytes`)
    assert.deepEqual(simulation.leftovers(), NOTHING)
    assert.ok(grown < HEAP_GROWTH_MAX, `the heap grew by ${grown} bytes`)
    await everySlotIsFree(simulation)
  })
})

/** As many requests as there are slots are admitted at once: each reaches an upstream. */
async function everySlotIsFree(simulation: Simulation): Promise<void> {
  simulation.onDispatch = () => {}
  const { live } = MOMENTS[1] as (typeof MOMENTS)[number]
  assert.ok(live)
  const calls = Array.from({ length: SLOTS }, () => simulation.call(Buffer.from(PLAIN)))
  for (const call of calls) call.sendAll()
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.equal(simulation.open.size, SLOTS)
  for (const call of calls) call.leave()
  await Promise.all(calls.map(({ served }) => served))
}

const PLAIN = '{"model":"chat","messages":[{"role":"user","content":"hi"}]}'
