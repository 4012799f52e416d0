/**
 * Whether a request on `primary_with_fallback` may leave its primary, and the reason in the metrics.
 */
import type { RouteSection } from '../../schema/index.ts'
import type { AttemptTarget, FailedAttempt, Standing } from './attempts.ts'

/** The reasons in `gw_overflow_total`. */
export type SpillReason = 'queue_saturated' | 'upstream_error' | 'timeout'

export interface Spill<T extends AttemptTarget> {
  readonly primary: T
  readonly reasons: ReadonlySet<SpillReason>
}

/**
 * The reasons for which a primary spills: all without `overflow`, else those with the value fallback.
 */
export function spillReasons(overflow: RouteSection['overflow']): ReadonlySet<SpillReason> {
  if (overflow === undefined) return new Set(['queue_saturated', 'upstream_error', 'timeout'])
  const reasons = new Set<SpillReason>()
  if (overflow.on_queue_saturated === 'fallback') reasons.add('queue_saturated')
  if (overflow.on_upstream_error === 'fallback') reasons.add('upstream_error')
  if (overflow.on_timeout === 'fallback') reasons.add('timeout')
  return reasons
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
}

const FREE: Leaving = { allowed: true, reason: undefined }

/**
 * Why the request may go to a fallback now, if it may; after leaving the primary it always may.
 */
export function leavingOf<T extends AttemptTarget>(situation: Situation<T>): Leaving {
  const { spill, attempts } = situation
  if (spill === undefined) return FREE
  const last = attempts.at(-1)
  if (last === undefined) return leavingUntried(spill, situation)
  if (attempts.some((attempt) => attempt.candidate !== spill.primary)) return FREE
  // A prompt that does not fit is no failure of the primary, so the rules do not cover it.
  if (last.failure === 'context') return FREE
  return leavingFor(last.failure === 'timeout' ? 'timeout' : 'upstream_error', spill)
}

function leavingUntried<T extends AttemptTarget>(
  spill: Spill<T>,
  situation: Situation<T>,
): Leaving {
  const state = situation.standing(spill.primary)
  if (state === 'full') return leavingFor('queue_saturated', spill)
  // A full quota is passed over even on routes that do not spill.
  if (state === 'spent') return { allowed: true, reason: 'queue_saturated' }
  // A primary that is down is always skipped, because waiting for it helps no client.
  if (state === 'out') return { allowed: true, reason: 'upstream_error' }
  return situation.cooled(spill.primary) ? leavingFor('upstream_error', spill) : FREE
}

function leavingFor<T extends AttemptTarget>(reason: SpillReason, { reasons }: Spill<T>): Leaving {
  return { allowed: reasons.has(reason), reason }
}
