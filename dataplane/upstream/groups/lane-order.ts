/** The upstreams of a route in the order of attempts. */
import type { Route } from '../../config/snapshot.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { Lane, Target } from '../live/targets.ts'
import { orderedIn } from './group.ts'

interface Eligible {
  readonly lane: Lane
  /** Whether the request fits the context window of the target. */
  readonly fits: (target: Target) => boolean
  /** Whether the request leaves the last places of an upstream to others. */
  readonly yields: boolean
}

interface Ordered extends Pick<Eligible, 'lane' | 'fits'> {
  readonly request: ModelRequest
  readonly route: Pick<Route, 'section' | 'strategy'>
  /** Score of the difficulty of the prompt, if it was computed. */
  readonly difficulty?: number | undefined
}

/** Those that may be tried now, in the order of the configuration. */
export function eligibleOf({ lane, fits, yields }: Eligible, now: number): readonly Target[] {
  const isEligible = (target: Target) => target.standing(now, yields) === 'ready' && fits(target)
  return lane.targets.every(isEligible) ? lane.targets : lane.targets.filter(isEligible)
}

/** The eligible members in the strategy's order; if none is eligible, all members, so that the reason can be found. */
export function orderOf(
  { request, route, lane, fits, difficulty }: Ordered,
  eligible: readonly Target[],
  random: () => number,
): readonly Target[] {
  if (eligible.length === 0) return lane.targets.filter(fits)
  if (lane.group !== undefined)
    return orderedIn(lane.group, new Set(eligible), { request, difficulty, random })
  const turn = lane.turn++
  const { section, strategy } = route
  return strategy.order({ route: section, eligible, request, difficulty, turn, random })
}
