/** The cost of tracing a request with one attempt: the ids of one that is not kept, and the spans of a kept one. */
import { randomFillSync } from 'node:crypto'
import type { Snapshot } from '../../../dataplane/config/snapshot.ts'
import { continuing, correlate, idsFor } from '../../../dataplane/telemetry/correlation.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace } from '../../../dataplane/telemetry/trace/fields.ts'
import { Exporter } from '../../../dataplane/telemetry/tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../../../dataplane/telemetry/tracing/otlp-page.ts'
import { RandomIds } from '../../../dataplane/telemetry/tracing/sampling.ts'
import { writeSpans } from '../../../dataplane/telemetry/tracing/spans.ts'
import { Tracing } from '../../../dataplane/telemetry/tracing/tracing.ts'
import { compare } from './runner.ts'

const clock = { now: () => performance.now(), wall: () => Date.now() }
const cell = { value: 0 }
const exporter = new Exporter({
  post: () => new Promise((resolve) => setImmediate(resolve, { kind: 'taken', rejected: 0 })),
  open: () => new OtlpPage({ resource: { 'service.name': 'gw' }, version: '1' }, writeSpans),
  most: { bytes: PAGE_BYTES, items: 512 },
  clock,
  random: Math.random,
  exported: cell,
  dropped: () => cell,
  posts: () => cell,
  warn() {},
})
const client = {
  incoming: { header: () => 'OpenAI/Python 2.9.0', httpVersion: '1.1' },
  peerAddress: '10.0.0.7',
  parameters: { temperature: 0.5, top_p: 1, seed: 7, messages: [] },
}
const section = { endpoint: 'http://127.0.0.1:8000' }
const provider = { name: 'vllm', hosted: false }
const upstream = { provider, section, model: 'llama', server: { address: '::1', port: 8000 } }
// The part of a snapshot that spans need.
const snapshot = {
  upstreams: new Map([['up', upstream]]),
  models: { get: () => 'chat' },
  routes: new Map(),
  section: {},
} as unknown as Snapshot
const usage = {
  input_tokens: 812,
  cached_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 233,
  reasoning_tokens: 0,
  estimated: false,
  cost_nano_usd: 91_000,
}
const attempt: AttemptTrace = {
  upstream: 'up',
  started_ms: 1.2,
  ended_ms: 20.5,
  outcome: 'ok',
  status: undefined,
  reason: undefined,
  upstream_request_id: undefined,
  upstream_limits: undefined,
  dropped: undefined,
  left_out: undefined,
  span_id: undefined,
  answer: undefined,
  usage,
}

function traced(sample_ratio: number | undefined) {
  const ids = new RandomIds(randomFillSync)
  const tracing =
    sample_ratio === undefined
      ? undefined
      : new Tracing({ sample_ratio, slow_ms: 10_000 }, exporter, ids, clock)
  return async (times: number) => {
    for (let request = 0; request < times; request++) {
      const trace = newTrace('r-1', '2026-11-21T12:00:00.250Z', 'POST', '/v1/chat/completions')
      correlate({ header: () => undefined }, trace)
      tracing?.begin(trace)
      trace.attempts.push(attempt)
      idsFor(continuing(trace, tracing), upstream, attempt)
      Object.assign(trace, { operation: 'chat', model: 'chat', route: 'chat', status: 200 })
      tracing?.end(trace, snapshot, client)
      // Batches leave between requests.
      if (request % 100 === 0) await new Promise(setImmediate)
    }
  }
}

await compare(import.meta.url, 500_000, {
  off: traced(undefined),
  'on, not kept': traced(0),
  'on, kept': traced(1),
})
