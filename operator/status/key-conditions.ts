/** The conditions of a GatewayKey: whether its gateway accepts it, and whether clients can use it. Pure. */
import type { Condition } from '../../crds/conditions.ts'
import type { KeyState, KeyVerdict } from '../compile/compile-keys.ts'
import { type ConditionState, no, yes } from './facts.ts'

const ENDED: Readonly<Record<Exclude<KeyState, 'ACTIVE'>, string>> = {
  EXPIRED: 'Expired',
  REVOKED: 'Revoked',
  ROTATED: 'Rotated',
}

const MAKING = 'The operator is making the key, and will write it to the Secret.'

export interface KeyFacts {
  readonly verdict: KeyVerdict
  readonly generation: number
  readonly before: readonly Condition[]
  /** ISO 8601. */
  readonly now: string
}

export function keyConditions({ verdict, generation, before, now }: KeyFacts): Condition[] {
  const all = { Accepted: judgeAccepted(verdict), Ready: judgeReady(verdict) }
  return Object.entries(all).map(([type, { status, reason, message }]) => {
    const known = before.find((condition) => condition.type === type)
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : now
    return { type, status, observedGeneration: generation, lastTransitionTime, reason, message }
  })
}

function judgeAccepted({ accepted, reason, message }: KeyVerdict): ConditionState {
  return accepted ? yes(reason, message) : no(reason, message)
}

function judgeReady(verdict: KeyVerdict): ConditionState {
  const { accepted, reason, message, state, hasNoRoute } = verdict
  if (!accepted) return no(reason, message)
  if (state !== 'ACTIVE') return no(ENDED[state], message)
  if (verdict.isUnmade) return no('KeyPending', verdict.pending ?? MAKING)
  return hasNoRoute ? no('RouteNotFound', message) : yes('Ready', message)
}
