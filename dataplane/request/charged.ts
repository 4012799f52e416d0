/** Writes the charges of a request into its trace. */
import type { AttemptTrace, Trace } from '../telemetry/trace/fields.ts'
import type { Usage } from '../wire/inner-form.ts'
import type { Charge } from './stages/settle.ts'

/** `added`: the tokens of passages, which the earlier count does not include. */
export function noteCharges(trace: Trace, charges: readonly Charge[], added: number): void {
  for (const { attempt, usage, nanos, caches } of charges) {
    trace.prompt_tokens = (trace.prompt_tokens ?? 0) + usage.promptTokens
    trace.completion_tokens = (trace.completion_tokens ?? 0) + usage.completionTokens
    if (usage.estimated) trace.usage_estimated = true
    else if (trace.counted_by === 'upper bound') {
      trace.counted_tokens = usage.promptTokens - added
      trace.counted_exact = true
    }
    const entry = trace.attempts[attempt]
    if (entry !== undefined) entry.usage = shownUsage(usage, nanos, caches)
    if (caches !== undefined)
      trace.cache_saved_nano_usd =
        (trace.cache_saved_nano_usd ?? 0) + caches.gain - caches.surcharge
  }
}

function shownUsage(
  usage: Usage,
  nanos: number,
  caches: Charge['caches'],
): NonNullable<AttemptTrace['usage']> {
  return {
    input_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens,
    cache_write_tokens: usage.cacheWriteTokens ?? 0,
    ...(usage.cacheWrite1hTokens && { cache_write_1h_tokens: usage.cacheWrite1hTokens }),
    output_tokens: usage.completionTokens,
    reasoning_tokens: usage.reasoningTokens,
    searches: usage.searches,
    estimated: usage.estimated,
    cost_nano_usd: nanos,
    ...(caches && { cache_gain_nano_usd: caches.gain, cache_surcharge_nano_usd: caches.surcharge }),
  }
}
