/**
 * An upstream that is down under load gets hardly more requests than without retries, and its
 * breaker opens soon. No client notices. After it recovers, single probes find out.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setInterval as every } from 'node:timers/promises'
import { until } from '../helpers/until.ts'
import { ask, type Seen } from './faults/caller.ts'
import type { Deed } from './faults/provider.ts'
import { type Rig, startRig } from './faults/rig.ts'

/** Requests a second; fewer on a machine that could not send twice as many. */
const RATE_MAX = 200
const RATE_MIN = 40
const TRIAL = 200
const TRIAL_AT_ONCE = 8
const SECONDS = process.env.GW_LONG ? 60 : 10
const OPEN_SECONDS = 3
/** Retries that an upstream accepts in ten seconds, even with little traffic. */
const FLOOR = 3
const BREAKER = { failure_threshold: 5, open_duration_seconds: OPEN_SECONDS, half_open_probes: 1 }
/** Takes one or two seconds on an idle machine. */
const OPENS_WITHIN_MS = 20_000
const CLOSES_WITHIN_MS = OPEN_SECONDS * 1000 + 100_000
/** Requests start in small groups: a separate timer for each would be late on a busy machine. */
const TICK_MS = 25

const DEATHS: readonly { readonly name: string; readonly deed: Deed }[] = [
  { name: '503', deed: { does: 'refuse', status: 503, code: 'overloaded' } },
  { name: 'a reset', deed: { does: 'reset' } },
  { name: 'silence', deed: { does: 'silence' } },
]

/** Sends requests at the rate for this long, or until `enough`; returns the result of each. */
async function load(rig: DeadRig, route: string, seconds: number, enough = () => false) {
  const calls: Promise<Seen>[] = []
  const began = performance.now()
  for await (const _ of every(TICK_MS)) {
    const passed = performance.now() - began
    const due = Math.floor((Math.min(passed, seconds * 1000) * rig.rate) / 1000)
    while (calls.length < due) {
      const stream = calls.length % 2 === 0
      calls.push(ask({ url: rig.gateway.url, key: rig.key, route, stream }))
    }
    if (passed >= seconds * 1000 || enough()) break
  }
  return await Promise.all(calls)
}

/**
 * Half of what client, gateway and upstream can handle now, so that nothing queues before the
 * gateway.
 */
async function rateFor({ gateway: { url }, key }: Rig): Promise<number> {
  const trial = async () => {
    const began = performance.now()
    let left = TRIAL
    const lane = async () => {
      while (left-- > 0) await ask({ url, key, route: 'trial', stream: left % 2 === 0 })
    }
    await Promise.all(Array.from({ length: TRIAL_AT_ONCE }, lane))
    return (TRIAL * 1000) / (performance.now() - began)
  }
  // The first request compiles the code.
  const possible = Math.max(await trial(), await trial())
  return Math.round(Math.max(RATE_MIN, Math.min(RATE_MAX, possible / 2)))
}

async function isOpen(rig: Rig): Promise<boolean> {
  const gauges = await rig.gauges()
  return gauges.sum('gw_breaker_state', 'upstream="primary",state="closed"') === 0
}

interface DeadRig extends Rig {
  /** Requests sent a second. */
  readonly rate: number
}

async function startDeadRig(): Promise<DeadRig> {
  const route = { strategy: 'primary_with_fallback', primary: 'primary', fallback: ['fallback'] }
  const rig = await startRig({
    upstreams: {
      primary: { timeout_seconds: 1, circuit_breaker: BREAKER },
      stubborn: { circuit_breaker: { failure_threshold: 10_000 } },
      fallback: { max_queue_depth: 10_000, timeout_seconds: 60, connect_timeout_seconds: 60 },
    },
    routes: [
      { ...route, name: 'chat', retry: { max_attempts: 3 } },
      { name: 'trial', strategy: 'single', primary: 'fallback' },
      { name: 'alone', strategy: 'single', primary: 'stubborn', retry: { max_attempts: 3 } },
    ],
  })
  return { ...rig, rate: await rateFor(rig) }
}

describe(`an upstream that is down under load for ${SECONDS} s`, () => {
  for (const { name, deed } of DEATHS) {
    test(`${name}: other upstreams answer, and it gets few requests`, {
      timeout: 900_000,
    }, async (t) => {
      const rig = await startDeadRig()
      t.after(() => rig.stop())
      const primary = rig.service('primary')
      primary.deed = () => deed
      const began = performance.now()
      const opened = until('the breaker opens', () => isOpen(rig)).then(() => performance.now())
      const spared = opened.then(async () => {
        // Requests that are sent and not yet accepted count too.
        await until('the requests before it have ended', async () => {
          const sent = (await rig.gauges()).sum('gw_upstream_in_flight', 'upstream="primary"')
          return sent + primary.inFlight === 0
        })
        primary.inFlightMax = 0
      })
      const dead = await load(rig, 'chat', SECONDS)
      await spared
      assert.ok(
        primary.inFlightMax <= 1,
        `${primary.inFlightMax} probes at once of the upstream that is down`,
      )
      const openedAfter = (await opened) - began
      const heard = primary.asked.length
      assert.ok(openedAfter <= OPENS_WITHIN_MS, `opened after ${openedAfter} ms`)
      assert.ok(heard <= 1.2 * dead.length + FLOOR, `${heard} of ${dead.length}`)
      assert.deepEqual(unanswered(dead), [], 'the fallback answers all requests')

      const lastProbes = primary.asked.length
      primary.forget()
      primary.deed = () => ({ does: 'answer' })
      const healedAt = performance.now()
      let closedAfter = Number.POSITIVE_INFINITY
      let inFlightMax = 0
      const closed = until(
        'the breaker closes',
        async () => {
          // Until the last observation of the open breaker, only probes may have arrived.
          const { inFlightMax: seen } = primary
          if (!(await isOpen(rig))) return true
          inFlightMax = seen
          return false
        },
        120,
      ).then(() => {
        closedAfter = performance.now() - healedAt
      })
      const healed = await load(rig, 'chat', 120, () => closedAfter < Number.POSITIVE_INFINITY)
      await closed
      assert.ok(closedAfter <= CLOSES_WITHIN_MS, `closed after ${closedAfter} ms`)
      assert.ok(inFlightMax <= 1, `${inFlightMax} probes at once`)
      assert.deepEqual(unanswered(healed), [])
      await rig.atRest()
      t.diagnostic(
        `${rig.rate} requests a second, ${dead.length} in all, ${lastProbes} attempts at the dead one, open after ` +
          `${openedAfter.toFixed(0)} ms, closed ${closedAfter.toFixed(0)} ms after the heal`,
      )
    })
  }

  test('without a breaker, retries add at most a fifth', { timeout: 900_000 }, async (t) => {
    const rig = await startDeadRig()
    t.after(() => rig.stop())
    const stubborn = rig.service('stubborn')
    stubborn.deed = () => ({ does: 'refuse', status: 503, code: 'overloaded' })
    // Its breaker opens after ten thousand failures, the largest value.
    const all = await load(rig, 'alone', Math.min(SECONDS, 30))
    const heard = stubborn.asked.length
    assert.ok(heard <= 1.2 * all.length + FLOOR, `${heard} attempts for ${all.length} requests`)
    assert.ok(heard > all.length, 'some were repeated')
    assert.ok(all.every(({ status, code }) => status === 502 && code === 'ERR_GW_UPSTREAM_ERROR'))
    t.diagnostic(`${rig.rate} requests a second, ${all.length} in all, ${heard} attempts`)
  })
})

/** The results of the first few requests without an answer. */
function unanswered(all: readonly Seen[]): unknown[] {
  const others = all.filter(({ ending }) => ending !== 'answered')
  return others.slice(0, 3).map(({ ending, status, code }) => ({ ending, status, code }))
}
