/** Which traces are kept: by the client, by a ratio, and in addition failed or slow ones. */
import assert from 'node:assert/strict'
import { randomFillSync } from 'node:crypto'
import { test } from 'node:test'
import type { Trace } from '../../../../dataplane/telemetry/trace/fields.ts'
import type { Exporter } from '../../../../dataplane/telemetry/tracing/exporter.ts'
import { RandomIds, Ratio } from '../../../../dataplane/telemetry/tracing/sampling.ts'
import type { Decision } from '../../../../dataplane/telemetry/tracing/spans.ts'
import { Tracing } from '../../../../dataplane/telemetry/tracing/tracing.ts'
import { aClock } from '../../../helpers/clock.ts'
import { anAttempt, aTrace, client, snapshot, TRACE_ID } from './a-decision.ts'

const ids = new RandomIds(randomFillSync)

function aTracing(sample_ratio: number) {
  const kept: (string | undefined)[] = []
  const exporter = { add: (decision: { kept?: string }) => kept.push(decision.kept) }
  const clock = aClock()
  const tracing = new Tracing(
    { sample_ratio, slow_ms: 10_000 },
    exporter as unknown as Exporter<Decision>,
    ids,
    clock,
  )
  const keep = (fields: Partial<Trace>) => {
    const trace = aTrace({ attempts: [anAttempt({})], ...fields })
    tracing.begin(trace)
    tracing.end(trace, snapshot, client)
    return trace
  }
  return { kept, keep, clock }
}

const parent = (flags: string) => ({ traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-${flags}` })
const alone = { traceparent: undefined, trace_id: undefined }

test('a ratio keeps the traces whose last 56 bits reach the threshold', () => {
  const ratio = new Ratio(0.01)
  const all = Array.from({ length: 100_000 }, () => ids.traceId())
  const kept = all.filter((id) => ratio.keeps(id))
  assert.ok(kept.length > 850 && kept.length < 1150, String(kept.length))
  const threshold = BigInt(Math.floor(0.99 * 2 ** 53)) << 3n
  const off = all.filter((id) => ratio.keeps(id) !== BigInt(`0x${id.slice(18)}`) >= threshold)
  assert.deepEqual(off, [])
  const smaller = new Ratio(0.001)
  assert.ok(all.every((id) => !smaller.keeps(id) || ratio.keeps(id)))
})

test('a ratio of 1 keeps all and one of 0 none', () => {
  for (const id of [TRACE_ID, 'f'.repeat(32), `f${'0'.repeat(31)}`]) {
    assert.ok(new Ratio(1).keeps(id))
    assert.ok(!new Ratio(0).keeps(id))
  }
})

test('the flag of the client decides if there is one', () => {
  const { kept, keep } = aTracing(0)
  assert.equal(keep(parent('01')).trace_flags, 1)
  assert.deepEqual(kept, [undefined])
  assert.equal(aTracing(1).keep(parent('00')).trace_flags, 0)
})

test('a trace that starts here has a random id, and marks it', () => {
  const { kept, keep } = aTracing(1)
  const { trace_id, span_id, trace_flags } = keep(alone)
  assert.match(`${trace_id} ${span_id}`, /^[0-9a-f]{32} [0-9a-f]{16}$/)
  assert.equal(trace_flags, 3)
  assert.equal(aTracing(0).keep(alone).trace_flags, 2)
  assert.deepEqual(kept, [undefined])
})

const NOTABLE: [string, 'error' | 'slow' | undefined, Partial<Trace>][] = [
  ['an answer of 500', 'error', { status: 502 }],
  ['a cut stream', 'error', { status: 499, code: 'ERR_GW_STREAM_ABORTED' }],
  ['a failover', 'error', { attempts: [anAttempt({ outcome: 'reset' }), anAttempt({})] }],
  ['a slow request', 'slow', { duration_ms: 10_000 }],
  ['a refusal with 429', undefined, { status: 429 }],
  ['a plain answer', undefined, {}],
]
for (const [name, why, fields] of NOTABLE) {
  test(`${name} outside of the sample is ${why === undefined ? 'not kept' : `kept as ${why}`}`, () => {
    const { kept, keep } = aTracing(0)
    keep({ ...parent('00'), ...fields })
    assert.deepEqual(kept, why === undefined ? [] : [why])
  })
}

test('clients and errors fill at most their share of a second', () => {
  const { kept, keep, clock } = aTracing(0)
  for (let request = 0; request < 200; request++) keep(parent('01'))
  assert.equal(kept.length, 100)
  keep({ ...parent('01'), tenant: 'other' })
  assert.equal(kept.length, 101)
  for (let request = 0; request < 200; request++) keep({ ...alone, status: 503 })
  assert.equal(kept.length, 151)
  clock.pass(1000)
  keep({ ...alone, status: 503 })
  assert.equal(kept.length, 152)
})
