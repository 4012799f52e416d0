/** Counts each request as it ends: a few additions. The history takes the counts every few seconds. */
import type { Trace } from '../../telemetry/trace/fields.ts'
import { Cells } from './cells.ts'
import { type Blame, bucketOf, bump, type Counts, FIRST_AT, indexOf, WHOLE_AT } from './counts.ts'
import { faultOf, faultOfAttempt } from './fault.ts'

const REQUESTS = indexOf('requests')
const INPUT = indexOf('input_tokens')
const OUTPUT = indexOf('output_tokens')
const COST = indexOf('cost_nano_usd')

/** Most tenants whose spent budget is remembered between two looks. */
const SPENT_MAX = 100

export class Tally {
  #cells = new Cells()
  #spent = new Map<string, string>()

  /** test/bench/micro/history-tally.ts: 0.2 us. */
  add(trace: Trace, left: boolean): void {
    const { tenant, route, status } = trace
    const fault = left || status < 200 || status >= 400 ? faultOf(trace, left) : undefined
    const cells = this.#cells
    const ofRoute = cells.at('route', route)
    const ofTenant = tenant === undefined ? undefined : cells.at('tenant', tenant)
    count(ofRoute, fault)
    if (ofTenant !== undefined) count(ofTenant, fault)
    const whole = trace.duration_ms
    // How fast a refusal was says nothing about answers.
    if (fault === undefined) {
      observe(ofRoute, whole, trace.ttft_ms)
      if (ofTenant !== undefined) observe(ofTenant, whole, trace.ttft_ms)
    } else if (trace.code === 'ERR_GW_BUDGET_EXCEEDED' && this.#spent.size < SPENT_MAX) {
      this.#spent.set(tenant ?? '', trace.message ?? '')
    }
    this.#attempts(trace, fault, [ofRoute, ofTenant])
  }

  #attempts(
    { attempts, duration_ms, ttft_ms }: Trace,
    fault: Blame | undefined,
    [ofRoute, ofTenant]: readonly [Counts, Counts | undefined],
  ): void {
    const last = attempts.length - 1
    for (let index = 0; index <= last; index++) {
      const attempt = attempts[index] as (typeof attempts)[number]
      const own = this.#cells.at('upstream', attempt.upstream)
      const failed = faultOfAttempt(attempt, index === last ? fault : undefined)
      count(own, failed)
      const { started_ms, usage } = attempt
      if (failed === undefined && index === last)
        observe(
          own,
          duration_ms - started_ms,
          ttft_ms === undefined ? ttft_ms : ttft_ms - started_ms,
        )
      if (usage === undefined) continue
      for (const counts of [own, ofRoute, ofTenant]) {
        if (counts === undefined) continue
        bump(counts, INPUT, usage.input_tokens)
        bump(counts, OUTPUT, usage.output_tokens)
        bump(counts, COST, usage.cost_nano_usd)
      }
    }
  }

  /** Takes what was counted since the last call, and the tenants whose budget was spent, each with the last message. */
  take(): { readonly cells: Cells; readonly spent: ReadonlyMap<string, string> } {
    const taken = { cells: this.#cells, spent: this.#spent }
    this.#cells = new Cells()
    this.#spent = new Map()
    return taken
  }
}

function count(counts: Counts, fault: Blame | undefined): void {
  bump(counts, REQUESTS)
  if (fault !== undefined) bump(counts, indexOf(fault))
}

function observe(counts: Counts, wholeMs: number, firstMs: number | undefined): void {
  bump(counts, WHOLE_AT + bucketOf(wholeMs / 1000))
  if (firstMs !== undefined) bump(counts, FIRST_AT + bucketOf(firstMs / 1000))
}
