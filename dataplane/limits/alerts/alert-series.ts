/** Counters of thresholds of budgets begin at 0: each is reached once a window, and an alert waits for that one increase. */

import { type BudgetSection, EACH_TENANT, labelOf, scopeOf } from '../../accounts/holders.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { knownTenants } from '../known-tenants.ts'

type Counters = Pick<Metrics, 'budgetAlerts' | 'scopedBudgetAlerts'>

/** Tenants of a budget that each one has. */
const TENANTS_MAX = 1_000

export function beginAlerts(
  { budgetAlerts, scopedBudgetAlerts }: Counters,
  snapshot: Pick<Snapshot, 'section' | 'limits' | 'keys'>,
): void {
  const { budgets } = snapshot.section
  for (const budget of budgets) {
    const scope = scopeOf(budget)
    const family = scope === undefined ? budgetAlerts : scopedBudgetAlerts
    const holders = scope === undefined ? tenantsOf(budget, snapshot) : [labelOf(scope)]
    for (const holder of holders) begin(family, holder, budget)
  }
}

function begin(family: Counters['budgetAlerts'], holder: string, budget: BudgetSection): void {
  const windows = [
    ...(budget.tokens_per_day === undefined ? [] : ['day']),
    ...(budget.spend_per_month_usd === undefined ? [] : ['month']),
  ]
  for (const window of windows) {
    for (const threshold of budget.alert_thresholds) family.at(holder, window, String(threshold))
  }
}

function tenantsOf(
  { tenant }: BudgetSection,
  snapshot: Pick<Snapshot, 'section' | 'limits' | 'keys'>,
): Iterable<string> {
  if (tenant !== EACH_TENANT) return tenant === undefined ? [] : [tenant]
  return new Set(knownTenants(snapshot)).keys().take(TENANTS_MAX)
}
