/**
 * A7: an upstream that is dead under load hears hardly more than it would without retries, its
 * breaker opens soon, nobody notices, and when it is healed one probe at a time finds that out.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setInterval as every } from 'node:timers/promises'
import { ask, type Seen } from './faults/caller.ts'
import type { Deed } from './faults/provider.ts'
import { type Rig, startRig } from './faults/rig.ts'
import { until } from './gateway-process.ts'

const RATE = 200
const SECONDS = process.env.GW_LONG ? 60 : 10
const OPEN_SECONDS = 3
/** Repeats that an upstream bears in ten seconds however little it is asked. */
const FLOOR = 3
const BREAKER = { failure_threshold: 5, open_duration_seconds: OPEN_SECONDS, half_open_probes: 1 }
const OPENS_WITHIN_MS = 2000
const CLOSES_WITHIN_MS = OPEN_SECONDS * 1000 + 10_000
/** Requests are made in small groups: a timer for each would be late on a busy machine. */
const TICK_MS = 25

const DEATHS: readonly { readonly name: string; readonly deed: Deed }[] = [
  { name: '503', deed: { does: 'refuse', status: 503, code: 'overloaded' } },
  { name: 'a reset', deed: { does: 'reset' } },
  { name: 'silence', deed: { does: 'silence' } },
]

/** Requests at the rate for so long, or until told; what became of each. */
async function load(rig: Rig, route: string, seconds: number, enough = () => false) {
  const calls: Promise<Seen>[] = []
  const began = performance.now()
  for await (const _ of every(TICK_MS)) {
    const passed = performance.now() - began
    const due = Math.floor((Math.min(passed, seconds * 1000) * RATE) / 1000)
    while (calls.length < due) {
      const stream = calls.length % 2 === 0
      calls.push(ask({ url: rig.gateway.url, key: rig.key, route, stream }))
    }
    if (passed >= seconds * 1000 || enough()) break
  }
  return await Promise.all(calls)
}

async function isOpen(rig: Rig): Promise<boolean> {
  const gauges = await rig.gauges()
  return gauges.sum('gw_breaker_state', 'upstream="primary",state="closed"') === 0
}

function startDeadRig(): Promise<Rig> {
  const route = { strategy: 'primary_with_fallback', primary: 'primary', fallback: ['fallback'] }
  return startRig({
    upstreams: {
      primary: { timeout_seconds: 1, circuit_breaker: BREAKER },
      stubborn: { timeout_seconds: 1, circuit_breaker: { failure_threshold: 10_000 } },
      fallback: { max_queue_depth: 10_000 },
    },
    routes: [
      { ...route, name: 'chat', retry: { max_attempts: 3 } },
      { name: 'alone', strategy: 'single', primary: 'stubborn', retry: { max_attempts: 3 } },
    ],
  })
}

describe(`an upstream that is dead at ${RATE} requests a second for ${SECONDS} s`, () => {
  for (const { name, deed } of DEATHS) {
    test(`by ${name}: others answer, and it is spared`, { timeout: 150_000 }, async (t) => {
      const rig = await startDeadRig()
      t.after(() => rig.stop())
      const primary = rig.service('primary')
      primary.deed = () => deed
      const began = performance.now()
      const opened = until('the breaker opens', () => isOpen(rig), 5).then(() => performance.now())
      const spared = opened.then(async () => {
        await until('those before it are over', () => primary.inFlight === 0, 3)
        primary.inFlightMax = 0
      })
      const dead = await load(rig, 'chat', SECONDS)
      await spared
      assert.ok(primary.inFlightMax <= 1, `${primary.inFlightMax} probes of the dead one at once`)
      const openedAfter = (await opened) - began
      const heard = primary.asked.length
      assert.ok(openedAfter <= OPENS_WITHIN_MS, `opened after ${openedAfter} ms`)
      assert.ok(heard <= 1.2 * dead.length + FLOOR, `${heard} of ${dead.length}`)
      assert.deepEqual(unanswered(dead), [], 'the fallback answers all')

      const lastProbes = primary.asked.length
      primary.forget()
      primary.deed = () => ({ does: 'answer' })
      const healedAt = performance.now()
      let closedAfter = Number.POSITIVE_INFINITY
      let inFlightMax = 0
      const closed = until(
        'the breaker closes',
        async () => {
          // Up to the last look at which it was open, nobody but probes may have been there.
          const { inFlightMax: seen } = primary
          if (!(await isOpen(rig))) return true
          inFlightMax = seen
          return false
        },
        20,
      ).then(() => {
        closedAfter = performance.now() - healedAt
      })
      const healed = await load(rig, 'chat', 20, () => closedAfter < Number.POSITIVE_INFINITY)
      await closed
      assert.ok(closedAfter <= CLOSES_WITHIN_MS, `closed after ${closedAfter} ms`)
      assert.ok(inFlightMax <= 1, `${inFlightMax} probes at once`)
      assert.deepEqual(unanswered(healed), [])
      await rig.atRest()
      t.diagnostic(
        `${dead.length} requests, ${lastProbes} attempts at the dead one, open after ` +
          `${openedAfter.toFixed(0)} ms, closed ${closedAfter.toFixed(0)} ms after the heal`,
      )
    })
  }

  test('without a breaker, retries alone add a fifth at most', { timeout: 150_000 }, async (t) => {
    const rig = await startDeadRig()
    t.after(() => rig.stop())
    const stubborn = rig.service('stubborn')
    stubborn.deed = () => ({ does: 'refuse', status: 503, code: 'overloaded' })
    // Its breaker opens after ten thousand failures, the most that can be set.
    const all = await load(rig, 'alone', Math.min(SECONDS, 30))
    const heard = stubborn.asked.length
    assert.ok(heard <= 1.2 * all.length + FLOOR, `${heard} attempts for ${all.length} requests`)
    assert.ok(heard > all.length, 'some were repeated')
    assert.ok(all.every(({ status, code }) => status === 502 && code === 'ERR_GW_UPSTREAM_ERROR'))
    t.diagnostic(`${all.length} requests, ${heard} attempts`)
  })
})

/** What the first few that got no answer got instead. */
function unanswered(all: readonly Seen[]): unknown[] {
  const others = all.filter(({ ending }) => ending !== 'answered')
  return others.slice(0, 3).map(({ ending, status, code }) => ({ ending, status, code }))
}
