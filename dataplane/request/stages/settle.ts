/** What did it use? Always, exactly once, and never throwing. */

import { costOf } from '../../accounts/price.ts'
import { type Charger, charge } from '../../limits/charging.ts'
import type { Trace } from '../../telemetry/traces.ts'
import type { ModelRequest, Usage } from '../../wire/inner-form.ts'
import type { Admission } from './admit.ts'

export type Settled = Pick<
  Admission,
  'lease' | 'route' | 'lane' | 'estimated' | 'inFlight' | 'meter' | 'prices'
>

/** The use of one attempt. */
export interface Charge {
  /** Its place among the attempts. */
  readonly attempt: number
  readonly usage: Usage
  readonly nanos: number
}

/**
 * Counts a prompt that is charged without a report of its upstream, where an upper bound was enough so far. Undefined for
 * most requests: their upstream has counted.
 */
export function countLate(
  request: ModelRequest,
  { tokens, lane, meter }: Pick<Admission, 'tokens' | 'lane' | 'meter'>,
): Promise<unknown> | undefined {
  if (tokens?.hasBounds(lane.targets) !== true || !meter.lacksPrompt(request)) return undefined
  return tokens.count(lane.targets)
}

/** Returns what was charged: every attempt that used something. */
export function settle(
  request: ModelRequest,
  { lease, route, lane, estimated, inFlight, meter, prices }: Settled,
  gateway: Charger,
): Charge[] {
  charge(lease, gateway)
  inFlight.value--
  const { tokens, cost, tenantCost } = gateway.metrics
  meter.learn(request)
  return meter.charges(request).map(({ attempt, usage }) => {
    tokens.at(route.name, attempt.upstream, 'prompt').value += usage.promptTokens
    tokens.at(route.name, attempt.upstream, 'completion').value += usage.completionTokens
    // Passages are no part of what was estimated.
    if (estimated !== undefined && !usage.estimated)
      lane.learnt?.note(request, estimated, usage.promptTokens - meter.addedTokens)
    const nanos = costOf(usage, prices.get(attempt.model))
    if (nanos > 0) {
      cost.at(route.name, attempt.upstream).value += nanos
      tenantCost.at(lease.hold.tenant).value += nanos
    }
    return { attempt: attempt.index, usage, nanos }
  })
}

/** Writes what was charged into the trace, and the count of a prompt for which an upper bound was enough. */
export function noteUsage(
  charges: readonly Charge[],
  { meter }: Pick<Admission, 'meter'>,
  trace: Trace,
): void {
  for (const { attempt, usage, nanos } of charges) {
    trace.prompt_tokens = (trace.prompt_tokens ?? 0) + usage.promptTokens
    trace.completion_tokens = (trace.completion_tokens ?? 0) + usage.completionTokens
    if (usage.estimated) trace.usage_estimated = true
    else if (trace.counted_by === 'upper bound') {
      trace.counted_tokens = usage.promptTokens - meter.addedTokens
      trace.counted_exact = true
    }
    const entry = trace.attempts[attempt]
    if (entry !== undefined)
      entry.usage = {
        input_tokens: usage.promptTokens,
        cached_tokens: usage.cachedTokens,
        cache_write_tokens: usage.cacheWriteTokens ?? 0,
        output_tokens: usage.completionTokens,
        reasoning_tokens: usage.reasoningTokens,
        searches: usage.searches,
        estimated: usage.estimated,
        cost_nano_usd: nanos,
      }
  }
}
