/** Which thresholds of a budget cause an alert, and the content of the alert. */
import { isAccountOfUpstream } from './holders.ts'
import { isForEver, type Per } from './period.ts'
import type { BudgetRule, BudgetScope, Crossing } from './store.ts'

/**
 * Thresholds that `used` has reached and that were not reported yet. Compares the quotient, not the product: 7 / 100
 * equals 0.07, but 0.07 * 100 is a little more than 7.
 */
export function reachedThresholds(
  { alertThresholds }: BudgetRule,
  { used, limit }: { readonly used: number; readonly limit: number },
  alerted: readonly number[],
): number[] {
  return alertThresholds.filter((one) => used / limit >= one && !alerted.includes(one))
}

/** Body of the webhook, and the fields of the log event of the same name. */
export interface BudgetAlert {
  readonly type: 'budget_alert'
  /** Tenant of the request that reached the threshold; absent for the quota of an upstream. */
  readonly tenant?: string
  /** Only for the budget of a group, a key or a limit. */
  readonly group?: string
  readonly key?: string
  readonly limit_name?: string
  /** The callers that it counts. */
  readonly limit_holder?: string
  readonly window: Per
  readonly kind: 'tokens' | 'spend'
  readonly threshold: number
  /** Tokens, or USD. */
  readonly used: number
  readonly limit: number
  /** ISO 8601; null if it never does. */
  readonly resets_at: string | null
}

export function alertOf(crossing: Crossing): BudgetAlert {
  const { tenant, window, kind, threshold, scope } = crossing
  const unit = kind === 'spend' ? 1e9 : 1
  return {
    type: 'budget_alert',
    ...(!isAccountOfUpstream(tenant) && { tenant }),
    ...(scope && nameOf(scope)),
    window,
    kind,
    threshold,
    used: crossing.used / unit,
    limit: crossing.limit / unit,
    resets_at: isForEver(crossing.resetsAt) ? null : new Date(crossing.resetsAt).toISOString(),
  }
}

function nameOf({ kind, name, limit }: BudgetScope): Partial<BudgetAlert> {
  return limit === undefined ? { [kind]: name } : { limit_name: name, limit_holder: limit.holder }
}
