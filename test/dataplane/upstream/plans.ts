/** Builders of plans, and the short notation of attempts in the tests. */

import type {
  AttemptTarget,
  FailedAttempt,
  Standing,
} from '../../../dataplane/upstream/attempt/attempts.ts'
import type { Next, Plan } from '../../../dataplane/upstream/attempt/plan.ts'
import { type SpillReason, spillReasons } from '../../../dataplane/upstream/attempt/spill.ts'
import type { FailureClass } from '../../../dataplane/wire/provider.ts'

export const target = (name: string, contextWindow?: number): AttemptTarget => ({
  name,
  contextWindow,
})
export const P = target('P')
export const F = target('F')
export const G = target('G')
const BY_NAME = new Map([P, F, G].map((each) => [each.name, each]))
export const ALL: ReadonlySet<SpillReason> = spillReasons(undefined)

export function aPlan(given: Partial<Plan<AttemptTarget>> = {}): Plan<AttemptTarget> {
  return {
    candidates: [P, F],
    attempts: [],
    attemptsMax: 2,
    repeats: true,
    spill: undefined,
    standing: () => 'ready',
    cooled: () => false,
    mayRepeat: () => true,
    ...given,
  }
}

/** `P:server F:timeout!`: the attempts so far; `!` for a long Retry-After. */
export function tried(text: string): FailedAttempt<AttemptTarget>[] {
  return text
    .split(' ')
    .filter(Boolean)
    .map((each) => {
      const [name, failure] = each.replace('!', '').split(':')
      const candidate = BY_NAME.get(name!)!
      return { candidate, failure: failure as FailureClass, moveOn: each.endsWith('!') }
    })
}

/** `P` next, `P again`, `F on timeout`, or why no attempt follows. */
export function shown(next: Next<AttemptTarget>): string {
  if (next.kind === 'none') return next.why
  const { candidate, repeat, spill } = next
  return candidate.name + (repeat ? ' again' : '') + (spill === undefined ? '' : ` on ${spill}`)
}

type Standings = Partial<Record<string, Standing>>
export const standing =
  (states: Standings) =>
  ({ name }: AttemptTarget) =>
    states[name] ?? 'ready'
