/** What did it use? Always, exactly once, and never throwing. */

import { type Charger, charge } from '../budgets/charging.ts'
import type { ModelRequest, Usage } from '../inner-form.ts'
import type { Admission } from './admit.ts'

export type Settled = Pick<Admission, 'lease' | 'route' | 'inFlight' | 'meter'>

/** Returns the sum over all attempts; undefined where none of them used anything. */
export function settle(
  request: ModelRequest,
  { lease, route, inFlight, meter }: Settled,
  gateway: Charger,
): Usage | undefined {
  charge(lease, gateway)
  inFlight.value--
  const { tokens } = gateway.metrics
  let total: Usage | undefined
  for (const { attempt, usage } of meter.charges(request)) {
    tokens.at(route.name, attempt.upstream, 'prompt').value += usage.promptTokens
    tokens.at(route.name, attempt.upstream, 'completion').value += usage.completionTokens
    total = total === undefined ? usage : sumOf(total, usage)
  }
  return total
}

function sumOf(one: Usage, other: Usage): Usage {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    estimated: one.estimated || other.estimated,
  }
}
