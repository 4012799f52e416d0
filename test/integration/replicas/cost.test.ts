/**
 * Measures a decision over all limits in the shared store, on loopback, with 64 requests in flight.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Rules } from '../../../dataplane/accounts/store.ts'
import { systemClock } from '../../../dataplane/base/clock.ts'
import { RedisStore } from '../../../dataplane/store/redis/store.ts'
import { startRedis } from '../../helpers/redis-server.ts'
import { recordResult } from '../../helpers/results.ts'
import { aLink } from '../redis/a-link.ts'

const IN_FLIGHT = 64
/** The approximate duration of a request at its upstream. */
const RUNS_MS = 40
const ROUND_MS = 1000
const EMPTY_MS = 500
const ROUNDS = 3
const P99_GOAL_MS = 3

const RULES: Rules = {
  requestsPerMinute: 100_000_000,
  burst: 100_000_000,
  concurrentRequests: 1_000_000,
  tokensPerMinute: 1_000_000_000,
  budget: {
    tokensPerDay: 1_000_000_000,
    nanosPerMonth: 1_000_000_000_000,
    onExceeded: 'reject',
    alertThresholds: [0.5, 1],
  },
}

const redis = await startRedis({ port: 'free' })
const { link, close } = await aLink(`redis://127.0.0.1:${redis.port}`, { timeoutMs: 10_000 })
const store = new RedisStore(link, { keyPrefix: 'gw', replica: 'cost', clock: systemClock })
after(async () => {
  close()
  await redis.stop()
})

let requests = 0

/** Requests in sequence; returns the duration of each decision. */
async function client(endsAt: number, took: number[]): Promise<void> {
  await delay(Math.random() * RUNS_MS)
  while (performance.now() < endsAt) {
    const id = `r${++requests}`
    const estimate = { tokens: 500, nanos: 500_000 }
    const askedAt = performance.now()
    const { outcome } = await store.admit({ tenant: 'acme', id, rules: RULES, estimate })
    took.push(performance.now() - askedAt)
    assert.equal(outcome, 'admitted')
    await delay(RUNS_MS * (0.5 + Math.random()))
    await store.settle({ tenant: 'acme', id, used: estimate, budget: RULES.budget })
  }
}

const NOTHING = { name: 'nothing', lua: 'return 1' }
let nothings = 0

async function askNothing(endsAt: number, took: number[]): Promise<void> {
  while (performance.now() < endsAt) {
    nothings++
    const askedAt = performance.now()
    await link.run(NOTHING, ['gw:v1:{acme}:nothing'], [])
    took.push(performance.now() - askedAt)
    await delay(10)
  }
}

async function scriptCalls(): Promise<number> {
  const stats = await redis.ask('INFO', 'commandstats')
  const counts = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

interface Round {
  readonly median: number
  readonly p99: number
  /**
   * The same percentile of an empty script, measured just before: the machine's time for any
   * answer.
   */
  readonly emptyMs: number
}

async function round(): Promise<Round> {
  const empty: number[] = []
  const emptyEndsAt = performance.now() + EMPTY_MS
  await Promise.all(Array.from({ length: 8 }, () => askNothing(emptyEndsAt, empty)))
  const took: number[] = []
  const endsAt = performance.now() + ROUND_MS
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => client(endsAt, took)))
  const [emptySorted, sorted] = [empty, took].map((all) =>
    all.toSorted((one, other) => one - other),
  )
  return {
    median: percentile(sorted ?? [], 0.5),
    p99: percentile(sorted ?? [], 0.99),
    emptyMs: percentile(emptySorted ?? [], 0.99),
  }
}

/** Other processes make a decision look slower, never faster: the best second counts. */
test('an admitted request costs two calls', async (context) => {
  const callsBefore = await scriptCalls()
  const rounds: Round[] = []
  while (rounds.length < ROUNDS && !rounds.some(({ p99 }) => p99 <= P99_GOAL_MS)) {
    const one = await round()
    context.diagnostic(JSON.stringify(one))
    rounds.push(one)
  }
  const [best] = rounds.toSorted((one, other) => one.p99 - other.p99)
  const calls = ((await scriptCalls()) - callsBefore - nothings) / requests
  const { p99 = 0, median = 0, emptyMs = 0 } = best ?? {}
  const figures = `${p99.toFixed(2)} ms, median ${median.toFixed(2)} ms; an empty script ${emptyMs.toFixed(2)} ms`
  recordResult('decision', figures, 'one process, TCP')
  recordResult('calls', calls.toFixed(2), `${requests} requests`)
  // The link probes the server once a second.
  assert.ok(calls <= 2.05, `${calls} calls for a request`)
})
