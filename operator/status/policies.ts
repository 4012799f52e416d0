/** A condition is judged by an ordered list of named policies: the first one that applies decides. */
import { type ConditionState, distinct, type StatusFacts } from './facts.ts'

/** Undefined if the policy does not apply. */
export type Policy = (facts: StatusFacts) => ConditionState | undefined

/** The last policy of a list always applies. */
export function judge(policies: readonly Policy[], facts: StatusFacts): ConditionState {
  for (const policy of policies) {
    const judgement = policy(facts)
    if (judgement !== undefined) return judgement
  }
  throw new Error('no policy applies to these facts')
}

/** One fault must not hide another: the first gives the reason, and the message names all of them. */
export function worstOf(policies: readonly Policy[]): Policy {
  return (facts) => {
    const found = policies.map((policy) => policy(facts)).filter((one) => one !== undefined)
    const [worst] = found
    return worst && { ...worst, message: distinct(found.map(({ message }) => message)).join(' ') }
  }
}
