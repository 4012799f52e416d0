/**
 * The sixteen faults of Failover Bench against the real gateway, in the bench's two rows: with
 * default settings, and with a limit for the first content. The test advances a clock by the
 * bench's times; the second row also runs with whole answers.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { type GatewayProcess, startGateway } from '../helpers/gateway-process.ts'
import { turnedTime } from '../helpers/turned-time.ts'
import { until } from '../helpers/until.ts'
import { ask, type Seen } from './faults/caller.ts'
import {
  FAULTS,
  type Fault,
  FIRST_SECONDS,
  FLAP,
  type Flap,
  IDLE_SECONDS,
} from './faults/catalogue.ts'
import { type FaultyProvider, startFaultyProvider } from './faults/provider.ts'
import { type Score, score, table, tally, type Verdict } from './faults/scorecard.ts'
import { WORDS } from './faults/speech.ts'

type Row = keyof typeof FIRST_SECONDS

interface Case {
  readonly fault: Fault
  readonly row: Row
  readonly stream: boolean
  readonly verdict: Verdict
  /** The name of its route; the names of the upstreams start with it. */
  readonly name: string
}

/** The bench asks for streams. */
const CASES: readonly Case[] = FAULTS.flatMap((fault) => {
  const id = fault.id.toLowerCase()
  const { verdict } = fault
  const late: Verdict = fault.id === 'S07' ? 'partial' : verdict
  return [
    { fault, row: 'asItComes', stream: true, verdict: late, name: `${id}-plain` },
    { fault, row: 'limited', stream: true, verdict, name: `${id}-stream` },
    { fault, row: 'limited', stream: false, verdict: 'pass', name: `${id}-whole` },
  ]
})
const HEALTHY = 's03-stream'
const [FIRST_WORD = ''] = WORDS
const { key, record } = aKey({ id: 'bench' })
const time = turnedTime()

let provider: FaultyProvider
let gateway: GatewayProcess
const scores = new Map<Case, Score>()
/** Cases that have their first word. */
const begun = new Set<Case>()

before(async () => {
  provider = await startFaultyProvider()
  const env = { ...time.env, BENCH_KEY: 'upstream-key' }
  gateway = await startGateway({ env, config: configOf(provider) })
  const silent = casesOf('S06', 'S07')
  const stalled = casesOf('S09')
  const flapping = casesOf('S15')
  const slow = [...silent, ...stalled, ...flapping]
  // Each case has a separate route and upstreams, so that none waits for another one's timers.
  await Promise.all(CASES.filter((one) => !slow.includes(one)).map(run))
  await runSilent(silent)
  await runStalled(stalled)
  await runFlapping(flapping)
})

after(async () => {
  await gateway?.stop()
  await provider?.close()
})

describe('Failover Bench', () => {
  for (const one of CASES) {
    const { fault, row, stream, verdict } = one
    const kind = row === 'asItComes' ? 'stream, as it comes' : stream ? 'stream' : 'whole'
    test(`${fault.id} ${fault.title} (${kind})`, () => {
      const { verdict: seen, why, view } = scores.get(one) as Score
      assert.equal(seen, verdict, why)
      if (seen !== 'safe') return
      assert.equal(view.errorEvent, true, 'an error event, then an abort')
      assert.equal(view.code, 'ERR_GW_STREAM_ABORTED')
    })
  }

  test("the scorecard of the bench's two rows", (context) => {
    const of = (row: Row, stream: boolean) =>
      CASES.filter((one) => one.row === row && one.stream === stream).map(
        (one) => scores.get(one) as Score,
      )
    const asItComes = of('asItComes', true)
    const limited = of('limited', true)
    const whole = of('limited', false)
    for (const scored of [asItComes, limited, whole]) {
      for (const line of table(scored)) context.diagnostic(line)
      context.diagnostic(JSON.stringify(tally(scored)))
    }
    assert.deepEqual(tally(asItComes), { pass: 12, safe: 3, partial: 1, fail: 0 })
    assert.deepEqual(tally(limited), { pass: 13, safe: 3, partial: 0, fail: 0 })
    assert.deepEqual(tally(whole), { pass: 16, safe: 0, partial: 0, fail: 0 })
  })
})

function casesOf(...ids: readonly string[]): Case[] {
  return CASES.filter(({ fault }) => ids.includes(fault.id))
}

function asked(one: Case): Promise<Seen> {
  const { name, stream } = one
  const onPiece = (piece: string) => {
    if (piece.includes(FIRST_WORD)) begun.add(one)
  }
  return ask({ url: gateway.url, key, route: name, stream, onPiece })
}

async function run(one: Case): Promise<void> {
  prepare(one)
  await judge(one, await asked(one))
}

function prepare({ fault, name }: Case): void {
  provider.service(name).deed = fault.primary
  provider.service(`${name}-fallback`).deed = () => ({
    does: 'answer',
    manner: fault.fallback ?? {},
  })
}

async function judge(one: Case, seen: Seen, flap?: Flap): Promise<void> {
  const { fault, row, stream, name } = one
  const { asked: primary } = provider.service(name)
  const { asked: fallback } = provider.service(`${name}-fallback`)
  const alive = await ask({ url: gateway.url, key, route: HEALTHY, stream })
  const view = {
    ...{ ...seen, primary: [...primary], fallback: [...fallback], flap },
    ...{ alive: alive.ending === 'answered', firstSeconds: FIRST_SECONDS[row] },
  }
  scores.set(one, score(fault, stream, view))
}

/** A row's limit ends its waits, and those of the other row continue. */
async function runSilent(cases: readonly Case[]): Promise<void> {
  const runs = Promise.all(cases.map(run))
  await until('the primaries are asked', () =>
    cases.every(({ name }) => provider.service(name).asked.length > 0),
  )
  time.turn(FIRST_SECONDS.limited + 1)
  const limited = cases.filter(({ row }) => row === 'limited')
  await until('the limit ends the waits', () => limited.every((one) => scores.has(one)))
  time.turn(FIRST_SECONDS.asItComes - FIRST_SECONDS.limited)
  await runs
}

async function runStalled(cases: readonly Case[]): Promise<void> {
  const runs = Promise.all(cases.map(run))
  // An answer that is not a stream has sent only its head.
  await until('the answers have started', () =>
    cases.every(
      (one) => begun.has(one) || (!one.stream && provider.service(one.name).asked.length > 0),
    ),
  )
  time.turn(IDLE_SECONDS + 1)
  await runs
}

/** The primary refuses requests during the outage and is healthy afterwards. */
async function runFlapping(cases: readonly Case[]): Promise<void> {
  let upAt = Number.POSITIVE_INFINITY
  for (const one of cases) {
    prepare(one)
    const primary = provider.service(one.name)
    const down = primary.deed
    primary.deed = (request) => (request.at < upAt ? down(request) : { does: 'answer' })
  }
  const seen = new Map<Case, Seen[]>(cases.map((one) => [one, []]))
  for (let at = 0; at <= FLAP.lastSeconds; at += FLAP.everySeconds) {
    if (at === FLAP.outageSeconds) upAt = performance.now()
    await Promise.all(cases.map(async (one) => seen.get(one)?.push(await asked(one))))
    time.turn(FLAP.everySeconds)
  }
  for (const [one, all] of seen) {
    const primary = provider.service(one.name)
    const recovered = primary.asked.find(({ at }) => at >= upAt)
    const flap: Flap = {
      endings: all.map(({ ending }) => ending),
      during: FLAP.outageSeconds / FLAP.everySeconds,
      primaryDuring: primary.asked.filter(({ at }) => at < upAt).length,
      recoveredAfterMs: recovered === undefined ? undefined : recovered.at - upAt,
    }
    const worst = all.find(({ ending }) => ending !== 'answered') ?? all.at(-1)
    await judge(one, worst as Seen, flap)
  }
}

function configOf({ endpoint }: FaultyProvider) {
  const upstreams = CASES.flatMap(({ row, name }) => [
    {
      ...upstreamOf(row, name, 'primary-model', 8192),
      circuit_breaker: { failure_threshold: 5, open_duration_seconds: 30, half_open_probes: 1 },
    },
    // A prompt that exceeds the primary's window moves only to a larger window.
    { ...upstreamOf(row, `${name}-fallback`, 'fallback-model', 131_072), max_queue_depth: 100 },
  ])
  function upstreamOf(row: Row, name: string, model: string, window: number) {
    return {
      ...(row === 'limited' && { timeout_seconds: FIRST_SECONDS.limited }),
      name,
      provider: 'openai',
      endpoint: endpoint(name),
      model,
      api_key: '${env:BENCH_KEY}',
      context_window: window,
    }
  }
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      // The test advances the clock without closing its connections.
      gateway: { keepalive_seconds: 3600 },
      upstreams,
      routes: CASES.map(({ name }) => ({
        name,
        strategy: 'primary_with_fallback',
        primary: name,
        fallback: [`${name}-fallback`],
        retry: { max_attempts: 3 },
      })),
      api_keys: [record],
    },
  }
}
