/** Whether a request may leave the primary, or the members of a route with fallbacks, and the reason in the metrics. */
import type { RouteSection } from '../../schema/index.ts'
import type { Objective } from '../answer/first-content.ts'
import type { AttemptTarget, FailedAttempt, Standing } from './attempts.ts'

/** The reasons in `gw_overflow_total`. */
export type SpillReason = 'queue_saturated' | 'upstream_error' | 'timeout' | 'slo_breach'

export interface Spill<T extends AttemptTarget> {
  /** The first of them if there are several. */
  readonly primary: T
  /** Present if a strategy chooses among several. */
  readonly primaries?: ReadonlySet<T>
  /** Present if the spill is for these alone; else for all that are not primary. */
  readonly fallbacks?: ReadonlySet<T>
  readonly reasons: ReadonlySet<SpillReason>
  /** Present if a slow primary spills. */
  readonly objective?: Objective | undefined
}

/**
 * The reasons for which a primary spills: without `overflow` all but a missed objective, else those with the value
 * fallback.
 */
export function spillReasons(
  overflow: Partial<NonNullable<RouteSection['overflow']>> | undefined,
): ReadonlySet<SpillReason> {
  if (overflow === undefined) return new Set(['queue_saturated', 'upstream_error', 'timeout'])
  const reasons = new Set<SpillReason>()
  if (overflow.on_queue_saturated === 'fallback') reasons.add('queue_saturated')
  if (overflow.on_upstream_error === 'fallback') reasons.add('upstream_error')
  if (overflow.on_timeout === 'fallback') reasons.add('timeout')
  if (overflow.on_slo_breach === 'fallback') reasons.add('slo_breach')
  return reasons
}

/** The objective for first tokens, if a missed one is a reason to leave. */
export function objectiveOf({
  overflow,
  slo,
}: Pick<RouteSection, 'overflow' | 'slo'>): Objective | undefined {
  return overflow?.on_slo_breach === 'fallback' ? slo : undefined
}

export interface Leaving {
  readonly allowed: boolean
  readonly reason: SpillReason | undefined
}

/** The facts that the rules use. */
export interface Situation<T extends AttemptTarget> {
  readonly spill: Spill<T> | undefined
  readonly attempts: readonly FailedAttempt<T>[]
  standing(candidate: T): Standing
  cooled(candidate: T): boolean
  /** Whether it misses the objective of its route, and the route spills for that. */
  isSlow?(candidate: T): boolean
}

const FREE: Leaving = { allowed: true, reason: undefined }

export function isPrimary<T extends AttemptTarget>(spill: Spill<T> | undefined, one: T): boolean {
  return spill !== undefined && (one === spill.primary || (spill.primaries?.has(one) ?? false))
}

export function primariesOf<T extends AttemptTarget>({ primary, primaries }: Spill<T>): T[] {
  return primaries === undefined ? [primary] : [...primaries]
}

/**
 * Why the request may go to a fallback now, if it may; after leaving the primary it always may.
 */
export function leavingOf<T extends AttemptTarget>(
  situation: Situation<T>,
  spill = situation.spill,
): Leaving {
  if (spill === undefined) return FREE
  const { fallbacks } = spill
  const attempts = situation.attempts.filter(
    ({ candidate }) =>
      fallbacks === undefined || fallbacks.has(candidate) || isPrimary(spill, candidate),
  )
  const last = attempts.at(-1)
  if (last === undefined) return leavingUntried(spill, situation)
  if (attempts.some((attempt) => !isPrimary(spill, attempt.candidate))) return FREE
  // A prompt that does not fit is no failure of the primary, so the rules do not cover it.
  if (last.failure === 'context') return FREE
  return leavingFor(last.failure === 'timeout' ? 'timeout' : 'upstream_error', spill)
}

function leavingUntried<T extends AttemptTarget>(
  spill: Spill<T>,
  situation: Situation<T>,
): Leaving {
  const primaries = primariesOf(spill)
  const states = primaries.map((one) => situation.standing(one))
  const ready = primaries.filter((_, index) => states[index] === 'ready')
  if (ready.length > 0 && ready.every((one) => situation.cooled(one)))
    return leavingFor('upstream_error', spill)
  if (ready.length > 0 && spill.objective !== undefined && isEachSlow(ready, situation))
    return leavingFor('slo_breach', spill)
  if (ready.length > 0) return FREE
  if (states.includes('full')) return leavingFor('queue_saturated', spill)
  // A full quota is passed over even on routes that do not spill.
  if (states.includes('spent')) return { allowed: true, reason: 'queue_saturated' }
  // A primary that is down is always skipped, because waiting for it helps no client.
  return { allowed: true, reason: 'upstream_error' }
}

function isEachSlow<T extends AttemptTarget>(
  ready: readonly T[],
  situation: Situation<T>,
): boolean {
  return ready.every((one) => situation.isSlow?.(one) === true)
}

function leavingFor<T extends AttemptTarget>(reason: SpillReason, { reasons }: Spill<T>): Leaving {
  return { allowed: reasons.has(reason), reason }
}

/** The rules for leaving the primary begin after the new upstream of a rollout. */
export function alsoPrimary<T extends AttemptTarget>(
  newer: T | undefined,
  spill: Spill<T>,
): Spill<T> {
  if (newer === undefined) return spill
  return { ...spill, primaries: new Set([newer, ...primariesOf(spill)]) }
}

/** Whether the target is a primary that misses the objective of its route. */
export function isSlowPrimary<T extends AttemptTarget>(
  target: T,
  spills: readonly (Spill<T> | undefined)[],
  misses: (objective: Objective) => boolean,
): boolean {
  return spills.some(
    (spill) =>
      spill?.objective !== undefined && isPrimary(spill, target) && misses(spill.objective),
  )
}
