/** Chooses the next attempt: the rules over attempts, as one pure function. */
import type { FailureClass } from '../../wire/provider.ts'
import type { AttemptTarget, FailedAttempt, Standing } from './attempts.ts'
import {
  isPrimary,
  type Leaving,
  leavingOf,
  primariesOf,
  type Spill,
  type SpillReason,
} from './spill.ts'

export interface Plan<T extends AttemptTarget> {
  /**
   * In the strategy's order, without members that are not ready; if none is ready, all members, so that the reason can be found.
   */
  readonly candidates: readonly T[]
  /** The failed attempts, in order. */
  readonly attempts: readonly FailedAttempt<T>[]
  readonly attemptsMax: number
  /** Whether the route sets `retry.max_attempts`; without it each candidate is tried once. */
  readonly repeats: boolean
  /**
   * Undefined for strategies without fallbacks, and if the prompt is too long for the primary anyway.
   */
  readonly spill: Spill<T> | undefined
  /** Those of routes within the route. */
  readonly innerSpills?: readonly Spill<T>[] | undefined
  standing(candidate: T): Standing
  /** Whether an earlier `Retry-After` still runs; then the target is tried last. */
  cooled(candidate: T): boolean
  /** Whether it misses the objective of its route; then the target is tried last. */
  isSlow?(candidate: T): boolean
  /** Called last, and only for a repeat, because it may take the repeat from a budget. */
  mayRepeat(candidate: T): boolean
  /** Whether the target has an endpoint that this request has not tried. */
  hasOther?(candidate: T): boolean
}

/**
 * Why no attempt is left. `client`: the request is at fault. `attempts_spent`: the bound is reached. `saturated`: the
 * next upstream is full, or its quota is. `unavailable`: all others are unhealthy, have an open breaker or were tried.
 */
export type Ending = 'client' | 'attempts_spent' | 'saturated' | 'unavailable'

export type Next<T extends AttemptTarget> =
  | {
      readonly kind: 'attempt'
      readonly candidate: T
      readonly repeat: boolean
      /** Whether a repeat goes to another endpoint of the upstream or carries another key, and so needs no wait. */
      readonly elsewhere: boolean
      /** Set if this attempt leaves the primary. */
      readonly spill: SpillReason | undefined
    }
  | { readonly kind: 'none'; readonly why: Ending }

/**
 * Whether a failure of this class allows a repeat at the same upstream; silence and refusals would only recur.
 */
const REPEATABLE: Readonly<Record<FailureClass, boolean>> = {
  client: false,
  context: false,
  credential: false,
  missing: false,
  rate_limited: true,
  quota: false,
  overloaded: true,
  server: true,
  timeout: false,
  connect: true,
  reset: true,
  tls: false,
  malformed: true,
}

export function nextAttempt<T extends AttemptTarget>(plan: Plan<T>): Next<T> {
  const last = plan.attempts.at(-1)
  if (last?.failure === 'client') return { kind: 'none', why: 'client' }
  const left = plan.attemptsMax - plan.attempts.length
  if (left <= 0) return { kind: 'none', why: 'attempts_spent' }
  const leaving = leavingOf(plan)
  const open = openOf(plan, leaving)
  if (last !== undefined && left > open.count) {
    const { candidate } = last
    const elsewhere = isWantedElsewhere(plan, last)
    if (elsewhere || repeatable(plan, last, open))
      return { kind: 'attempt', candidate, repeat: true, elsewhere, spill: undefined }
  }
  const candidate = open.first
  if (candidate === undefined)
    return { kind: 'none', why: anyFull(plan) ? 'saturated' : 'unavailable' }
  const spill = isPrimary(plan.spill, candidate) ? undefined : leaving.reason
  return { kind: 'attempt', candidate, repeat: false, elsewhere: false, spill }
}

interface Open<T> {
  /** Untried candidates that may be tried now. */
  readonly count: number
  /** The first of the untried candidates; those with a running `Retry-After` and slow ones come last. */
  readonly first: T | undefined
}

function openOf<T extends AttemptTarget>(plan: Plan<T>, leaving: Leaving): Open<T> {
  let count = 0
  let first: T | undefined
  let firstCooled: T | undefined
  for (const candidate of plan.candidates) {
    if (!leaving.allowed && !isPrimary(plan.spill, candidate)) continue
    if (plan.innerSpills !== undefined && isHeldBack(plan, candidate)) continue
    if (plan.attempts.some((attempt) => attempt.candidate === candidate)) continue
    if (plan.standing(candidate) !== 'ready' || !isLargeEnough(candidate, plan.attempts)) continue
    count++
    if (plan.cooled(candidate) || plan.isSlow?.(candidate)) firstCooled ??= candidate
    else first ??= candidate
  }
  return { count, first: first ?? firstCooled }
}

/** Whether a route within the route does not let the request go to this fallback of it. */
function isHeldBack<T extends AttemptTarget>(plan: Plan<T>, candidate: T): boolean {
  return (plan.innerSpills ?? []).some(
    (spill) => spill.fallbacks?.has(candidate) === true && !leavingOf(plan, spill).allowed,
  )
}

/**
 * Whether the window is larger than every window that was too small; an unknown window is not.
 */
function isLargeEnough(
  candidate: AttemptTarget,
  attempts: readonly FailedAttempt<AttemptTarget>[],
): boolean {
  return attempts.every(
    ({ failure, candidate: tried }) =>
      failure !== 'context' ||
      (candidate.contextWindow ?? 0) > (tried.contextWindow ?? Number.POSITIVE_INFINITY),
  )
}

/**
 * A refused key says nothing about the others. A broken connection is the fault of the endpoint, which now gets no
 * requests, so the budget of repeats does not apply.
 */
function isWantedElsewhere<T extends AttemptTarget>(
  plan: Plan<T>,
  { candidate, failure, isCut, isOfKey, moveOn }: FailedAttempt<T>,
): boolean {
  if (isOfKey) return plan.standing(candidate) === 'ready'
  if (!plan.hasOther?.(candidate) || plan.standing(candidate) !== 'ready') return false
  if (isCut) return true
  return plan.repeats && !moveOn && REPEATABLE[failure] && plan.mayRepeat(candidate)
}

function repeatable<T extends AttemptTarget>(
  plan: Plan<T>,
  last: FailedAttempt<T>,
  open: Open<T>,
): boolean {
  if (!plan.repeats || last.moveOn || last.isTooLate || !REPEATABLE[last.failure]) return false
  if (plan.standing(last.candidate) !== 'ready') return false
  if (open.first !== undefined && plan.cooled(last.candidate)) return false
  return plan.mayRepeat(last.candidate)
}

function anyFull<T extends AttemptTarget>(plan: Plan<T>): boolean {
  const { candidates, spill } = plan
  const isFull = (one: T) => plan.standing(one) === 'full' || plan.standing(one) === 'spent'
  return (spill !== undefined && primariesOf(spill).some(isFull)) || candidates.some(isFull)
}
