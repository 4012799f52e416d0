/** Whether a request may run: looks at every limit, charges none, and names the one with the longest wait. */
import { type Amount, BUSY_RETRY_MS, type Refusal, type Rules } from '../contract.ts'
import type { MemoryLease } from './lease.ts'
import type { Ledger } from './ledger.ts'
import type { Tenant } from './tenant.ts'

export interface Obstacle {
  readonly by: Refusal
  readonly retryAfterMs: number
}

/** The budget that what is settled has reached; of two, the one that resets later. */
export function spentBudget(
  { day, month }: Tenant,
  { budget }: Rules,
): 'budget_tokens' | 'budget_spend' | undefined {
  if (budget === undefined) return undefined
  if (month.isSpent(budget.nanosPerMonth)) {
    const bothEnd = month.window.resetsAt === day.window.resetsAt
    return bothEnd && day.isSpent(budget.tokensPerDay) ? 'budget_tokens' : 'budget_spend'
  }
  return day.isSpent(budget.tokensPerDay) ? 'budget_tokens' : undefined
}

/** Rate and concurrency, which hold on every route; of several the longest wait. */
export function limitInTheWay(
  tenant: Tenant,
  rules: Rules,
  estimate: Amount,
  now: number,
): Obstacle | undefined {
  const forRequest = tenant.requests.wait(1, now)
  const forTokens =
    rules.tokensPerMinute === undefined ? 0 : (tenant.tokens?.wait(estimate.tokens, now) ?? 0)
  const forSlot = tenant.running >= rules.concurrentRequests ? BUSY_RETRY_MS : 0
  const longest = Math.max(forRequest, forTokens, forSlot)
  if (longest === 0) return undefined
  const by = longest === forRequest ? 'rpm' : longest === forTokens ? 'tpm' : 'concurrency'
  return { by, retryAfterMs: longest }
}

/** Budgets; one that is spent is passed as such, unless the request is downgraded because of it. */
export function budgetInTheWay(
  { day, month }: Tenant,
  { budget }: Rules,
  spent: 'budget_tokens' | 'budget_spend' | undefined,
  wall: number,
): Obstacle | undefined {
  if (spent !== undefined) {
    const { window } = spent === 'budget_tokens' ? day : month
    return { by: spent, retryAfterMs: Math.max(1, window.resetsAt - wall) }
  }
  if (!day.isPromised(budget?.tokensPerDay) && !month.isPromised(budget?.nanosPerMonth)) {
    return undefined
  }
  return { by: 'budget_reserved', retryAfterMs: BUSY_RETRY_MS }
}

export function longer(
  one: Obstacle | undefined,
  other: Obstacle | undefined,
): Obstacle | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.retryAfterMs > one.retryAfterMs ? other : one
}

/** A hold grows as a request is admitted: while its own and all others stay below the caps that it grows towards. */
export function mayRaise(held: MemoryLease, wanted: Amount, budget: Rules['budget']): boolean {
  const { day, month, reserved, downgradedBy } = held
  const leavesRoom = (ledger: Ledger, limit: number | undefined) =>
    !ledger.isPromised(limit) && (downgradedBy !== undefined || !ledger.isSpent(limit))
  return (
    (wanted.tokens === reserved.tokens || leavesRoom(day, budget?.tokensPerDay)) &&
    (wanted.nanos === reserved.nanos || leavesRoom(month, budget?.nanosPerMonth))
  )
}
