/** The sixteen faults of Failover Bench against the real gateway, as streams and as whole answers. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setInterval as every } from 'node:timers/promises'
import { aKey } from '../helpers/a-key.ts'
import { type GatewayProcess, startGateway } from '../helpers/gateway-process.ts'
import { ask, type Seen } from './faults/caller.ts'
import {
  FAULTS,
  type Fault,
  FIRST_SECONDS,
  FLAP,
  type Flap,
  IDLE_SECONDS,
  type View,
} from './faults/catalogue.ts'
import { type FaultyProvider, startFaultyProvider } from './faults/provider.ts'
import { type Score, score, table, tally } from './faults/scorecard.ts'

interface Case {
  readonly fault: Fault
  readonly stream: boolean
  /** The name of its route; the upstreams are named after it. */
  readonly name: string
}

const CASES: readonly Case[] = FAULTS.flatMap((fault) =>
  [true, false].map((stream) => ({
    fault,
    stream,
    name: `${fault.id.toLowerCase()}-${stream ? 'stream' : 'whole'}`,
  })),
)
const HEALTHY = 's03-stream'
/** A primary that is not used again by then never will be. */
const FLAP_MS_MAX = 60_000
const { key, record } = aKey({ id: 'bench' })

let provider: FaultyProvider
let gateway: GatewayProcess
let scores: Score[]

before(async () => {
  provider = await startFaultyProvider()
  gateway = await startGateway({ env: { BENCH_KEY: 'upstream-key' }, config: configOf(provider) })
  // Each case has a separate route and upstreams, so that none waits for another's clocks.
  scores = await Promise.all(CASES.map(run))
})

after(async () => {
  await gateway?.stop()
  await provider?.close()
})

describe('Failover Bench', () => {
  for (const [index, { fault, stream }] of CASES.entries()) {
    test(`${fault.id} ${fault.title} (${stream ? 'stream' : 'whole'})`, () => {
      const one = scores[index] as Score
      assert.equal(one.verdict, stream ? fault.verdict : 'pass', one.why)
      if (one.verdict !== 'safe') return
      assert.equal(one.view.errorEvent, true, 'an error event, then an abort')
      assert.equal(one.view.code, 'ERR_GW_STREAM_ABORTED')
    })
  }

  test('the scorecard', (context) => {
    for (const line of table(scores)) context.diagnostic(line)
    const streams = tally(scores.filter(({ stream }) => stream))
    const wholes = tally(scores.filter(({ stream }) => !stream))
    context.diagnostic(`streams ${JSON.stringify(streams)}, whole ${JSON.stringify(wholes)}`)
    assert.deepEqual(streams, { pass: 13, safe: 3, partial: 0, fail: 0 })
    assert.deepEqual(wholes, { pass: 16, safe: 0, partial: 0, fail: 0 })
  })
})

async function run({ fault, stream, name }: Case): Promise<Score> {
  const primary = provider.service(name)
  const fallback = provider.service(`${name}-fallback`)
  primary.deed = fault.primary
  fallback.deed = () => ({ does: 'answer', manner: fault.fallback ?? {} })
  const question = { url: gateway.url, key, route: name, stream }
  const { seen, flap } = fault.flaps
    ? await runFlap(() => ask(question), name)
    : { seen: await ask(question), flap: undefined }
  const asked = { primary: [...primary.asked], fallback: [...fallback.asked] }
  const alive = await ask({ ...question, route: HEALTHY })
  const view: View = { ...seen, ...asked, flap, alive: alive.ending === 'answered' }
  return score(fault, stream, view)
}

/** The primary refuses this many requests and is healthy from then on; requests come until it is used again. */
async function runFlap(call: () => Promise<Seen>, name: string) {
  const primary = provider.service(name)
  let upAt = Number.POSITIVE_INFINITY
  const down = primary.deed
  primary.deed = (asked) => (asked.at < upAt ? down(asked) : { does: 'answer' })
  const isRecovered = () => primary.asked.some(({ at }) => at >= upAt)
  const calls = []
  for await (const _ of every(FLAP.everyMs)) {
    calls.push(call())
    if (calls.length === FLAP.requests) upAt = performance.now()
    if (isRecovered() || performance.now() - upAt > FLAP_MS_MAX) break
  }
  const all = await Promise.all(calls)
  const recovered = primary.asked.find(({ at }) => at >= upAt)
  const flap: Flap = {
    endings: all.map(({ ending }) => ending),
    during: FLAP.requests,
    primaryDuring: primary.asked.filter(({ at }) => at < upAt).length,
    recoveredAfterMs: recovered === undefined ? undefined : recovered.at - upAt,
  }
  const worst = all.find(({ ending }) => ending !== 'answered') ?? all.at(-1)
  return { seen: worst as Seen, flap }
}

function configOf({ endpoint }: FaultyProvider) {
  const upstreams = CASES.flatMap(({ fault, name }) => [
    {
      ...upstreamOf(name, 'primary-model', 8192),
      circuit_breaker: {
        failure_threshold: 5,
        open_duration_seconds: fault.flaps ? FLAP.openSeconds : 30,
        half_open_probes: 1,
      },
    },
    // A prompt that is too long for the primary goes on only where the window is larger.
    { ...upstreamOf(`${name}-fallback`, 'fallback-model', 131_072), max_queue_depth: 100 },
  ])
  function upstreamOf(name: string, model: string, window: number) {
    return {
      name,
      provider: 'openai',
      endpoint: endpoint(name),
      model,
      api_key: '${env:BENCH_KEY}',
      context_window: window,
      timeout_seconds: FIRST_SECONDS,
      idle_timeout_seconds: IDLE_SECONDS,
    }
  }
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      gateway: { request_timeout_seconds: 30 },
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
