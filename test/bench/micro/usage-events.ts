/** The cost of one request's usage: its row, and its event for each sink. Sending and writing are not included. */
import { compilePrices } from '../../../dataplane/accounts/price.ts'
import type { Snapshot } from '../../../dataplane/config/snapshot.ts'
import type { Section } from '../../../dataplane/schema/index.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace } from '../../../dataplane/telemetry/trace/fields.ts'
import { Exporter, type Page } from '../../../dataplane/telemetry/tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../../../dataplane/telemetry/tracing/otlp-page.ts'
import { BatchPage } from '../../../dataplane/usage/events/batch-page.ts'
import type { UsageEvent } from '../../../dataplane/usage/events/event.ts'
import { UsageEvents } from '../../../dataplane/usage/events/events.ts'
import { EventFile } from '../../../dataplane/usage/events/file.ts'
import { writeRecord } from '../../../dataplane/usage/events/log-record.ts'
import { compare } from './runner.ts'

const clock = { now: () => performance.now(), wall: () => Date.now() }
const cell = { value: 0 }
const pricing = { models: [{ model: 'llama', input: 10, output: 20 }] } as Section['pricing']
const upstream = { provider: { name: 'vllm' }, model: 'llama' }
// The part of a snapshot that events need.
const snapshot = {
  upstreams: new Map([['up', upstream]]),
  limits: { prices: compilePrices(pricing) },
} as unknown as Snapshot
const usage = {
  input_tokens: 812,
  cached_tokens: 512,
  cache_write_tokens: 0,
  output_tokens: 233,
  reasoning_tokens: 0,
  estimated: false,
  cost_nano_usd: 91_000,
}
// The part of an attempt that events need.
const attempt = {
  upstream: 'up',
  started_ms: 1.2,
  ended_ms: 20.5,
  outcome: 'ok',
  usage,
} as AttemptTrace

function exporter(open: () => Page<UsageEvent>): Exporter<UsageEvent> {
  return new Exporter({
    open,
    most: { bytes: PAGE_BYTES, items: 100 },
    post: () => new Promise((resolve) => setImmediate(resolve, { kind: 'taken', rejected: 0 })),
    clock,
    random: Math.random,
    exported: cell,
    dropped: () => cell,
    warn() {},
  })
}

/** A disk that accepts everything at once. */
function file(): EventFile {
  const path = '/dev/null'
  const most = { max_bytes: Number.MAX_SAFE_INTEGER, keep: 1 }
  return new EventFile({ path, ...most, clock, delivered: cell, dropped: cell, onFailure() {} })
}

function reporting(events: UsageEvents | undefined) {
  const book = new UsageBook()
  book.changed = new Set()
  return async (times: number) => {
    for (let request = 0; request < times; request++) {
      const trace = newTrace('r-1', '2026-11-21T12:00:00.250Z', 'POST', '/v1/chat/completions')
      trace.attempts.push(attempt)
      const facts = { operation: 'chat', model: 'chat', route: 'chat', status: 200, tags: 'team=a' }
      Object.assign(trace, facts, { tenant: 'acme', key: 'k1' })
      book.add(trace, snapshot.upstreams)
      events?.add(trace, snapshot)
      // Batches leave between requests.
      if (request % 100 !== 0) continue
      events?.flush()
      await new Promise(setImmediate)
    }
  }
}

const otlp = () => new OtlpPage({ resource: { 'service.name': 'gw' }, version: '1' }, writeRecord)

await compare(import.meta.url, 200_000, {
  'the row alone': reporting(undefined),
  'and the file': reporting(new UsageEvents([file()])),
  'and the webhook': reporting(new UsageEvents([exporter(() => new BatchPage('/gw'))])),
  'and the collector': reporting(new UsageEvents([exporter(otlp)])),
})
