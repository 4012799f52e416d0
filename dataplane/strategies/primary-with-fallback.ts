/** Everything to the primary; the fallbacks in the order they are listed. */
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
  // Which of them a request may spill to is decided when it fails: see upstream/attempt-plan.ts.
  order: ({ eligible }) => eligible,
}
