/** Translates the store's numbers into the answers of the contract. */

import type {
  AdmitResult,
  BudgetFigure,
  BudgetRule,
  BudgetScope,
  Figures,
  Refusal,
  Rules,
  ScopedBudget,
  ScopedFigures,
} from '../../accounts/store.ts'
import type { Moment, Windows } from '../../accounts/windows.ts'
import { type Account, FIGURES } from './redis-accounts.ts'

/** Where the figures of a window begin, if there are any. */
const WINDOWS_AT = 10

const REFUSALS: Readonly<Record<number, Refusal>> = {
  11: 'rpm',
  12: 'tpm',
  13: 'concurrency',
  14: 'budget_reserved',
  15: 'budget_tokens',
  16: 'budget_spend',
}

/** More than the code of a refusal, if only what others would give back is in the way. */
const HELD_BACK = 20

export function isHeldBack(code: number): boolean {
  return code > HELD_BACK
}

/** Numbers, except the names of windows that a script misses. */
export function checkedReply(reply: unknown): readonly (number | string)[] {
  const isReply = (value: unknown): value is readonly (number | string)[] =>
    Array.isArray(value) && value.length >= 2 && typeof value[0] === 'number'
  if (isReply(reply)) return reply
  throw new TypeError('A script of the shared store answered with something that is not its reply.')
}

/**
 * The reply on one of several admissions that were decided together, from the second on: its nine numbers stand after the first
 * reply, which has the figures of the windows for all of them.
 */
export function decisionAt(
  place: number,
  reply: readonly number[],
  budget: BudgetRule | undefined,
): readonly number[] {
  const windows = windowsIn(budget).filter((at) => at !== undefined).length
  const end = WINDOWS_AT + FIGURES * windows
  const at = end + (WINDOWS_AT - 1) * (place - 1)
  const [code = 0, ...standing] = reply.slice(at, at + WINDOWS_AT - 1)
  return [code, reply[1] ?? 0, ...standing, ...reply.slice(WINDOWS_AT, end)]
}

/** `scope` is that of the counter that decided; absent if it is the tenant's own. */
export function admission(
  [code = 0, , retryAfterMs = 0]: readonly number[],
  figures: Figures,
  scope?: BudgetScope,
): AdmitResult {
  const refusal = REFUSALS[isHeldBack(code) ? code - HELD_BACK : code]
  const budget = scope === undefined ? {} : { scope }
  if (refusal !== undefined) {
    return { outcome: 'refused', by: refusal, ...budget, retryAfterMs, figures }
  }
  if (code === 1) return { outcome: 'admitted', figures }
  const by = code === 2 ? 'budget_tokens' : 'budget_spend'
  return { outcome: 'downgraded', by, ...budget, figures }
}

/** The figures of a counter beside that of its tenant. */
export function scopedFiguresOf(
  reply: readonly number[],
  { scope, rule, rates }: ScopedBudget,
  present: Windows,
): ScopedFigures {
  const figures = { scope, ...budgetFiguresOf(reply, rule, present) }
  if (rates === undefined) return figures
  const at = (index: number) => reply[index] ?? 0
  const { requestsPerMinute, tokensPerMinute, concurrentRequests } = rates
  const bucket = (limit: number | undefined, place: number) =>
    limit === undefined ? undefined : { limit, remaining: at(place), resetMs: at(place + 1) }
  return {
    ...figures,
    requests: bucket(requestsPerMinute, 3),
    tokenRate: bucket(tokensPerMinute, 5),
    concurrency:
      concurrentRequests === undefined ? undefined : { limit: concurrentRequests, used: at(7) },
  }
}

export function figuresOf(reply: readonly number[], rules: Rules, present: Windows): Figures {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, budget } = rules
  const at = (index: number) => reply[index] ?? 0
  const { tokens, spend } = budgetFiguresOf(reply, budget, present)
  return {
    requests: { limit: requestsPerMinute, remaining: at(3), resetMs: at(4) },
    tokenRate:
      tokensPerMinute === undefined
        ? undefined
        : { limit: tokensPerMinute, remaining: at(5), resetMs: at(6) },
    concurrency: { limit: concurrentRequests, used: at(7) },
    tokens,
    spend,
  }
}

export function budgetFiguresOf(
  reply: readonly number[],
  budget: BudgetRule | undefined,
  present: Windows,
): Pick<ScopedFigures, 'tokens' | 'spend'> {
  const at = (index: number) => reply[index] ?? 0
  const [day, month] = windowsIn(budget)
  const figure = (
    limit: number | undefined,
    place: number | undefined,
    reserved: number,
    { resetsAt }: Windows['day'],
  ): BudgetFigure | undefined =>
    limit === undefined || place === undefined
      ? undefined
      : { limit, settled: at(place), reserved, resetsAt }
  return {
    tokens: figure(budget?.tokensPerDay, day, at(8), present.day),
    spend: figure(budget?.nanosPerMonth, month, at(9), present.month),
  }
}

/** Positions of the day's and the month's figures; a reply has only windows with a cap. */
export function windowsIn(
  budget: BudgetRule | undefined,
): readonly [number | undefined, number | undefined] {
  const day = budget?.tokensPerDay === undefined ? undefined : WINDOWS_AT
  if (budget?.nanosPerMonth === undefined) return [day, undefined]
  return [day, day === undefined ? WINDOWS_AT : WINDOWS_AT + FIGURES]
}

/** Smaller codes are those of admissions. */
export const FIRST_REFUSAL = 11

/** The answer about the accounts of one node. */
export interface ShardAnswer {
  readonly code: number
  readonly wait: number
  /** The account that decided. */
  readonly at: Account | undefined
  readonly replies: ReadonlyMap<Account, readonly number[]>
  readonly moment: Moment
}

/** If several refuse, it is the refusal with the longest wait; else the first downgrade. */
export function decisiveOf(answers: readonly ShardAnswer[]) {
  const refusals = answers.filter(({ code }) => code >= FIRST_REFUSAL)
  const [longest] = refusals.toSorted((one, other) => other.wait - one.wait)
  const decisive = longest ?? answers.find(({ code }) => code > 1) ?? answers[0]
  if (decisive === undefined) throw new TypeError('A request has an account.')
  const areHeldBack = refusals.length > 0 && refusals.every(({ code }) => isHeldBack(code))
  return { ...decisive, isHeldBack: areHeldBack }
}
