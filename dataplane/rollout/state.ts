/** The state of a rollout that replicas share, and its changes: pure functions without a clock. */
import type { RolloutPlan } from '../config/routes/rollout.ts'
import { isRecord, parsed } from '../json/values.ts'
import { type Arm, added, NO_REQUESTS, readArm } from './arm.ts'
import { type Comparison, compared, type Measure, REQUESTS_MIN } from './comparison.ts'

export const PHASES = ['running', 'paused', 'back', 'aborted', 'complete'] as const
export type Phase = (typeof PHASES)[number]
export const ACTIONS = ['pause', 'resume', 'promote', 'abort'] as const
export type Action = (typeof ACTIONS)[number]

export interface RolloutState {
  /** That of the plan; a state of another plan is not used. */
  readonly id: string
  readonly phase: Phase
  /** Index in the steps. */
  readonly step: number
  /** The share of the requests that the new upstream gets, in percent. */
  readonly share: number
  /** Milliseconds that the step has run, as one replica has seen it; no wall clock decides. */
  readonly ranMs: number
  /** ISO 8601. */
  readonly changedAt: string
  readonly reason: string
  /** The measure that sent the requests back. */
  readonly why?: Measure | undefined
  /** Sums of this step. */
  readonly newer: Arm
  readonly others: Arm
  /** Sums of the others in the step before, until this step has enough others. */
  readonly before: Arm
}

/** Sums that a replica adds. */
export interface SideSums {
  readonly newer: Arm
  readonly others: Arm
}

export const NO_SUMS: SideSums = { newer: NO_REQUESTS, others: NO_REQUESTS }

export function begun({ id, steps }: RolloutPlan, at: string): RolloutState {
  const started = { id, phase: 'running', step: 0, share: steps[0], reason: 'begun' } as const
  return { ...started, ...EMPTY, before: NO_REQUESTS, changedAt: at }
}

const EMPTY = { ranMs: 0, newer: NO_REQUESTS, others: NO_REQUESTS }

export function withSums(state: RolloutState, { newer, others }: SideSums): RolloutState {
  return { ...state, newer: added(state.newer, newer), others: added(state.others, others) }
}

/** The requests with which those of the new upstream are compared. */
export function comparedWith({ others, before }: RolloutState): Arm {
  return others.requests >= REQUESTS_MIN ? others : added(others, before)
}

export function comparedIn(state: RolloutState, { margins }: RolloutPlan): Comparison[] {
  return compared(state.newer, comparedWith(state), margins)
}

/** The next state: back if the new upstream is worse, the next step if it has run well for long enough. */
export function judged(state: RolloutState, plan: RolloutPlan, at: string): RolloutState {
  if (state.phase !== 'running' && state.phase !== 'paused') return state
  const all = comparedIn(state, plan)
  const worse = all.find(({ standing }) => standing === 'worse')
  if (worse !== undefined) {
    const reason = `${worse.text}, at ${state.share} % and ${state.newer.requests} requests`
    const { measure: why } = worse
    return { ...state, phase: 'back', share: 0, reason, why, changedAt: at }
  }
  const isDue = state.ranMs >= plan.everyMs && state.newer.requests >= plan.requestsMin
  if (state.phase === 'paused' || !isDue) return state
  return all.some(({ standing }) => standing === 'unsure') ? state : stepped(state, plan, at)
}

function stepped(state: RolloutState, { steps }: RolloutPlan, at: string): RolloutState {
  const step = state.step + 1
  const share = steps[step]
  if (share === undefined) {
    const reason = `${state.newer.requests} requests at ${state.share} % were not worse`
    return { ...state, phase: 'complete', reason, changedAt: at }
  }
  const reason = `${state.newer.requests} requests at ${state.share} % were not worse`
  const before = comparedWith(state)
  return { ...state, ...EMPTY, step, share, before, reason, changedAt: at }
}

/** The state after a person has asked for an action. */
export function acted(
  state: RolloutState,
  action: Action,
  plan: RolloutPlan,
  at: string,
): RolloutState {
  const change = { changedAt: at, reason: `${PAST[action]} by a person`, why: undefined }
  switch (action) {
    case 'pause':
      return state.phase === 'running' ? { ...state, ...change, phase: 'paused' } : state
    case 'resume':
      if (state.phase === 'running' || state.phase === 'complete') return state
      if (state.phase === 'paused') return { ...state, ...change, phase: 'running' }
      return { ...begun(plan, at), before: comparedWith(state), reason: change.reason }
    case 'promote':
      return { ...state, ...change, phase: 'complete', share: 100 }
    case 'abort':
      return { ...state, ...change, phase: 'aborted', share: 0 }
  }
}

const PAST = { pause: 'paused', resume: 'resumed', promote: 'promoted', abort: 'aborted' }

/** A kept state; undefined: it is not for this plan, or unreadable. */
export function readState(text: string, { id, steps }: RolloutPlan): RolloutState | undefined {
  const value = parsed(text)
  if (!isRecord(value) || value.id !== id) return undefined
  const [newer, others, before] = [value.newer, value.others, value.before].map(readArm)
  const { phase, step, share, ranMs, changedAt, reason, why } = value
  const isKnown =
    PHASES.some((one) => one === phase) && Number.isSafeInteger(step) && typeof share === 'number'
  if (!isKnown || !newer || !others || !before || steps[step as number] === undefined)
    return undefined
  return {
    id,
    phase: phase as Phase,
    step: step as number,
    share: Math.min(100, Math.max(0, share)),
    ranMs: typeof ranMs === 'number' ? ranMs : 0,
    changedAt: typeof changedAt === 'string' ? changedAt : '',
    reason: typeof reason === 'string' ? reason : '',
    why: why as Measure | undefined,
    newer,
    others,
    before,
  }
}
