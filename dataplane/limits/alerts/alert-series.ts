/** Creates the counters of budget thresholds with 0, because an alert needs to see the one increase in a window. */

import { type BudgetSection, EACH_TENANT, labelOf, scopeOf } from '../../accounts/holders.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { knownTenants } from '../known-tenants.ts'

type Counters = Pick<Metrics, 'budgetAlerts' | 'scopedBudgetAlerts'>

/** Most tenants for a budget of each tenant. */
const TENANTS_MAX = 1_000

export function beginAlerts(
  { budgetAlerts, scopedBudgetAlerts }: Counters,
  snapshot: Pick<Snapshot, 'section' | 'limits' | 'keys'>,
): void {
  const { budgets, limits } = snapshot.section
  for (const { name, budget } of limits) {
    for (const threshold of budget?.alerts ?? [])
      scopedBudgetAlerts.at(`limit:${name}`, budget?.per ?? '', String(threshold))
  }
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
