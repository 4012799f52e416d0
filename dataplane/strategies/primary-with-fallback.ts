/** Everything to the primary; then the fallbacks in their order. */
import type { Strategy } from './contract.ts'

export const primaryWithFallback: Strategy = {
  name: 'primary_with_fallback',
  summary: 'All traffic to the primary; spills to the fallbacks on saturation, error or timeout.',
  members(route) {
    const names = new Set(route.fallback)
    return route.primary === undefined
      ? [...names]
      : [route.primary, ...names.difference(new Set([route.primary]))]
  },
  // The plan decides after a failure which of them a request may spill to: see upstream/attempt/plan.ts.
  order: ({ eligible }) => eligible,
}
