/** Brings the gauges of budgets up to date when they are scraped. */
import type { Gateway } from '../gateway.ts'
import type { Figures } from '../store/contract.ts'

/** As old as scrapes are apart; tenants that send requests are known better than that anyway. */
const SHOWN_AGE_MS = 15_000

export function showBudgets(gateway: Gateway): void {
  const { active, store, metrics } = gateway
  const { limits, section } = active.snapshot
  closeHours(gateway)
  forgetRemoved(gateway)
  for (const { tenant } of section.budgets) {
    const show = ({ tokens, spend }: Figures) => {
      if (tokens !== undefined) metrics.budgetTokens.at(tenant, 'day').value = tokens.settled
      if (spend !== undefined) metrics.budgetSpend.at(tenant, 'month').value = spend.settled / 1e9
    }
    const figures = store.read(tenant, limits.rules.of(tenant), SHOWN_AGE_MS)
    if (figures instanceof Promise) void figures.then(show, () => undefined)
    else show(figures)
  }
}

/** Charges the hour that has ended, if one has, before anybody reads what was charged. */
export function closeHours({ active, clock, infra, metrics }: Gateway): void {
  const perHour = active.snapshot.section.pricing?.infra_cost_per_hour_usd ?? 0
  for (const { tenant, nanos } of infra.close(clock.wall(), perHour * 1e9)) {
    metrics.infraCost.at(tenant).value += nanos / 1e9
  }
}

/** A gauge without a budget would tell its last value for ever. */
function forgetRemoved({ active, metrics }: Gateway): void {
  const { budgets } = active.snapshot.section
  const caps = new Map(budgets.map((budget) => [budget.tenant, budget]))
  const hasTokens = (tenant: string) => caps.get(tenant)?.tokens_per_day !== undefined
  const hasSpend = (tenant: string) => caps.get(tenant)?.spend_per_month_usd !== undefined
  metrics.budgetTokens.retain('tenant', hasTokens)
  metrics.budgetSpend.retain('tenant', hasSpend)
}
