/** A condition is judged by an ordered list of named policies: the first one that applies decides. */
import type { ConditionState, StatusFacts } from './facts.ts'

/** Undefined where the policy does not apply. */
export type Policy = (facts: StatusFacts) => ConditionState | undefined

/** The last policy of a list always applies. */
export function judge(policies: readonly Policy[], facts: StatusFacts): ConditionState {
  for (const policy of policies) {
    const judgement = policy(facts)
    if (judgement !== undefined) return judgement
  }
  throw new Error('no policy applies to these facts')
}
