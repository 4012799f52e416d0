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
  /** Whether the new upstream of a rollout gets the request. */
  readonly isNewer?: boolean | undefined
}

interface Ordered extends Pick<Eligible, 'lane' | 'fits' | 'isNewer'> {
  readonly request: ModelRequest
  readonly route: Pick<Route, 'section' | 'strategy'>
  /** Score of the difficulty of the prompt, if it was computed. */
  readonly difficulty?: number | undefined
}

/** The upstreams of the route that the request may use. */
export function targetsFor({ lane, isNewer }: Pick<Eligible, 'lane' | 'isNewer'>): Lane['targets'] {
  return lane.rollout === undefined || isNewer === true ? lane.targets : lane.rollout.others
}

/** Those that may be tried now, in the order of the configuration. */
export function eligibleOf(
  { lane, fits, yields, isNewer }: Eligible,
  now: number,
): readonly Target[] {
  const targets = targetsFor({ lane, isNewer })
  const isEligible = (target: Target) => target.standing(now, yields) === 'ready' && fits(target)
  return targets.every(isEligible) ? targets : targets.filter(isEligible)
}

/** The eligible members in the strategy's order; if none is eligible, all members, so that the reason can be found. */
export function orderOf(
  ordered: Ordered,
  eligible: readonly Target[],
  random: () => number,
): readonly Target[] {
  if (eligible.length === 0) return targetsFor(ordered).filter(ordered.fits)
  const newer = ordered.lane.rollout?.newer
  if (newer === undefined || !eligible.includes(newer)) return orderedBy(ordered, eligible, random)
  const others = eligible.filter((target) => target !== newer)
  return others.length === 0 ? [newer] : [newer, ...orderedBy(ordered, others, random)]
}

function orderedBy(
  { request, route, lane, difficulty }: Ordered,
  eligible: readonly Target[],
  random: () => number,
): readonly Target[] {
  if (lane.group !== undefined)
    return orderedIn(lane.group, new Set(eligible), { request, difficulty, random })
  const turn = lane.turn++
  const { section, strategy } = route
  return strategy.order({ route: section, eligible, request, difficulty, turn, random })
}
