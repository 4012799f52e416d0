/** Traces of requests, decided at their end, and written for a collector. Absent if none is configured. */
import type { Clock } from '../../base/clock.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import { flagsOf, type SpanIds } from '../correlation.ts'
import type { Trace } from '../trace/fields.ts'
import type { Exporter } from './exporter.ts'
import { Allowance, flagsOfNew, isError, type RandomIds, Ratio, SAMPLED } from './sampling.ts'
import type { Client, Decision } from './spans.ts'

export interface Sampling {
  readonly sample_ratio: number
  readonly slow_ms: number
}

export class Tracing implements SpanIds {
  readonly #ids: RandomIds
  readonly #ratio: Ratio
  readonly #slowMs: number
  readonly #clock: Clock
  readonly exporter: Exporter<Decision>
  readonly #allowance = new Allowance()

  constructor(sampling: Sampling, exporter: Exporter<Decision>, ids: RandomIds, clock: Clock) {
    this.#ids = ids
    this.#ratio = new Ratio(sampling.sample_ratio)
    this.#slowMs = sampling.slow_ms
    this.#clock = clock
    this.exporter = exporter
  }

  spanId(): string {
    return this.#ids.spanId()
  }

  /** Joins the client's trace, or starts one. test/bench/micro/spans.ts: 0.8 us including the headers for upstreams. */
  begin(trace: Trace): void {
    trace.span_id = this.#ids.spanId()
    if (trace.traceparent !== undefined) {
      trace.trace_flags = flagsOf(trace.traceparent)
      return
    }
    trace.trace_id = this.#ids.traceId()
    trace.trace_flags = flagsOfNew(this.#ratio.keeps(trace.trace_id))
  }

  /** Keeps sampled traces, and failed or slow ones. Returns whether the trace was kept. */
  end(trace: Trace, snapshot: Snapshot, client: Client): boolean {
    // The request began before tracing was switched on.
    if (trace.span_id === undefined) return false
    if (this.#isSampled(trace)) {
      this.exporter.add({ trace, snapshot, client, kept: undefined })
      return true
    }
    const kept = this.#notable(trace, snapshot)
    if (kept === undefined || !this.#allowance.takes(kept, '', this.#clock.wall())) return false
    this.exporter.add({ trace, snapshot, client, kept })
    return true
  }

  #isSampled({ trace_flags = 0, traceparent, tenant }: Trace): boolean {
    if ((trace_flags & SAMPLED) === 0) return false
    if (traceparent === undefined) return true
    return this.#allowance.takes('parent', tenant ?? '', this.#clock.wall())
  }

  #notable(trace: Trace, { routes, section }: Snapshot): 'error' | 'slow' | undefined {
    if (isError(trace)) return 'error'
    if (trace.duration_ms >= this.#slowMs) return 'slow'
    if (trace.ttft_ms === undefined) return undefined
    const slo = routes.get(trace.route)?.section.slo ?? section.slo
    return slo !== undefined && trace.ttft_ms > slo.ttft_p95_ms ? 'slow' : undefined
  }
}
