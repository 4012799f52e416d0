/** The thresholds that the settled usage of a counter has just reached. */
import { reachedThresholds } from '../../accounts/alerts.ts'
import type { BudgetRule, BudgetScope, Crossing } from '../../accounts/store.ts'
import type { HeldWindows, MemoryLease } from './lease.ts'
import type { Ledger } from './ledger.ts'

/** The unit of each window. */
const KINDS = { day: 'tokens', month: 'spend' } as const

interface Settled extends HeldWindows, Pick<MemoryLease, 'tenant'> {
  /** Absent for the tenant's own counter. */
  readonly scope?: BudgetScope
}

/** Notes them, so that each alerts once. */
export function crossings(
  { day, month, tenant, scope }: Settled,
  budget: BudgetRule | undefined,
  onChange: (ledger: Ledger) => void,
): Crossing[] {
  const crossed: Crossing[] = []
  if (budget === undefined) return crossed
  for (const ledger of [day, month]) {
    const { kind, resetsAt } = ledger.window
    const limit = kind === 'day' ? budget.tokensPerDay : budget.nanosPerMonth
    if (limit === undefined) continue
    const used = ledger.settled
    const reached = reachedThresholds(budget, { used, limit }, ledger.alerted)
    if (reached.length === 0) continue
    ledger.alerted = [...ledger.alerted, ...reached]
    onChange(ledger)
    const window = scope?.limit?.period.per ?? kind
    const about = { tenant: tenant.name, kind: KINDS[kind], window, used, limit, resetsAt }
    for (const threshold of reached) crossed.push({ ...about, ...(scope && { scope }), threshold })
  }
  return crossed
}
