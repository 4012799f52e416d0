/** Whether a request may run: checks every limit without a charge, and returns the one with the longest wait. */
import { tokensOf } from '../../accounts/amounts.ts'
import {
  type AdmitRequest,
  type Amount,
  BUSY_RETRY_MS,
  type BudgetRule,
  type BudgetScope,
  type Measures,
  type Refusal,
  type Rules,
} from '../../accounts/store.ts'
import type { Account, Scoped } from './account.ts'
import type { MemoryLease } from './lease.ts'
import type { Ledger } from './ledger.ts'
import type { Tenant } from './tenant.ts'

export interface Obstacle {
  readonly by: Refusal
  /** Absent if it is a limit of the tenant. */
  readonly scope?: BudgetScope | undefined
  readonly retryAfterMs: number
}

type Spent = 'budget_tokens' | 'budget_spend'

/** The figures of a request's budgets. */
export interface BudgetsNow {
  /** A spent budget with a downgrade route, and the reservation on that route. */
  readonly relieved:
    | { readonly by: Spent; readonly scope: BudgetScope | undefined; readonly estimate: Amount }
    | undefined
  /** The budget that refuses the request. */
  readonly obstacle: Obstacle | undefined
}

const IN_ORDER: BudgetsNow = { relieved: undefined, obstacle: undefined }

/**
 * Judges all budgets together. A spent budget without a downgrade route refuses; of several, the one with the longest
 * wait. If each spent budget has a downgrade route, the first one decides.
 */
export function budgetsNow(
  tenant: Tenant,
  scoped: readonly Scoped[],
  { rules, downgradeEstimate }: Pick<AdmitRequest, 'rules' | 'downgradeEstimate'>,
  wall: number,
): BudgetsNow {
  // Most requests have only the tenant's budget, which is not spent.
  if (scoped.length === 0 && spentBudget(tenant, rules.budget) === undefined) {
    const promised = promisedBudget(tenant, rules.budget, scoped)
    return promised === undefined ? IN_ORDER : { relieved: undefined, obstacle: promised }
  }
  let relieved: BudgetsNow['relieved']
  let obstacle: Obstacle | undefined
  const judge = (account: Account, rule: BudgetRule | undefined, scope?: BudgetScope) => {
    const by = spentBudget(account, rule)
    if (by === undefined) return
    if (rule?.onExceeded === 'downgrade' && downgradeEstimate !== undefined) {
      relieved ??= { by, scope, estimate: downgradeEstimate }
      return
    }
    const { window } = by === 'budget_tokens' ? account.day : account.month
    const retryAfterMs = Math.max(1, window.resetsAt - wall)
    obstacle = longer(obstacle, { by, ...(scope && { scope }), retryAfterMs })
  }
  judge(tenant, rules.budget)
  for (const { account, rule, scope } of scoped) judge(account, rule, scope)
  if (obstacle !== undefined) return { relieved: undefined, obstacle }
  return { relieved, obstacle: promisedBudget(tenant, rules.budget, scoped) }
}

/** The budget that the settled usage has reached; of two, the one that resets later. */
function spentBudget({ day, month }: Account, budget: BudgetRule | undefined): Spent | undefined {
  if (budget === undefined) return undefined
  if (month.isSpent(budget.nanosPerMonth)) {
    const bothEnd = month.window.resetsAt === day.window.resetsAt
    return bothEnd && day.isSpent(budget.tokensPerDay) ? 'budget_tokens' : 'budget_spend'
  }
  return day.isSpent(budget.tokensPerDay) ? 'budget_tokens' : undefined
}

/** A budget that running requests may use up. */
function promisedBudget(
  tenant: Tenant,
  budget: BudgetRule | undefined,
  scoped: readonly Scoped[],
): Obstacle | undefined {
  const by = 'budget_reserved'
  if (isPromised(tenant, budget)) return { by, retryAfterMs: BUSY_RETRY_MS }
  const other = scoped.find(({ account, rule }) => isPromised(account, rule))
  return other && { by, scope: other.scope, retryAfterMs: BUSY_RETRY_MS }
}

function isPromised({ day, month }: Account, budget: BudgetRule | undefined): boolean {
  return day.isPromised(budget?.tokensPerDay) || month.isPromised(budget?.nanosPerMonth)
}

/** Rates and slots of one counter, which apply on every route; of several limits, the one with the longest wait. */
export function limitInTheWay(
  account: Account,
  { requestsPerMinute, tokensPerMinute, concurrentRequests }: Measures,
  tokens: number,
  now: number,
): Obstacle | undefined {
  const forRequest = requestsPerMinute === undefined ? 0 : (account.requests?.wait(1, now) ?? 0)
  const forTokens = tokensPerMinute === undefined ? 0 : (account.tokens?.wait(tokens, now) ?? 0)
  const isFull = concurrentRequests !== undefined && account.running >= concurrentRequests
  const forSlot = isFull ? BUSY_RETRY_MS : 0
  const longest = Math.max(forRequest, forTokens, forSlot)
  if (longest === 0) return undefined
  const by = longest === forRequest ? 'rpm' : longest === forTokens ? 'tpm' : 'concurrency'
  return { by, retryAfterMs: longest }
}

/** The same of the tenant and of all other counters of a request. */
export function limitsInTheWay(
  tenant: Tenant,
  scoped: readonly Scoped[],
  rules: Rules,
  estimate: Amount,
  now: number,
): Obstacle | undefined {
  let found = limitInTheWay(tenant, rules, estimate.tokens, now)
  for (const { account, rates, scope } of scoped) {
    if (rates === undefined) continue
    const tokens = tokensOf(estimate, scope.limit?.counts ?? 'all')
    const other = limitInTheWay(account, rates, tokens, now)
    if (other !== undefined) found = longer(found, { ...other, scope })
  }
  return found
}

export function longer(
  one: Obstacle | undefined,
  other: Obstacle | undefined,
): Obstacle | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.retryAfterMs > one.retryAfterMs ? other : one
}

/** A hold may grow if an admission would be allowed: while all holds together stay below the caps. */
export function mayRaise(
  held: MemoryLease,
  wanted: Amount,
  { budget, scoped = [] }: Pick<Rules, 'budget' | 'scoped'>,
): boolean {
  const { reserved, downgradedBy } = held
  const leavesRoom = (ledger: Ledger, limit: number | undefined) =>
    !ledger.isPromised(limit) && (downgradedBy !== undefined || !ledger.isSpent(limit))
  const mayGrow = ({ day, month }: Pick<MemoryLease, 'day' | 'month'>, rule?: BudgetRule) =>
    (wanted.tokens === reserved.tokens || leavesRoom(day, rule?.tokensPerDay)) &&
    (wanted.nanos === reserved.nanos || leavesRoom(month, rule?.nanosPerMonth))
  return (
    mayGrow(held, budget) &&
    held.scoped.every((one) =>
      mayGrow(one, scoped.find(({ scope }) => scope.id === one.scope.id)?.rule),
    )
  )
}
