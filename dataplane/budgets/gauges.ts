/** Brings the gauges of budgets up to date when they are scraped. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Gateway } from '../gateway.ts'

/** Up to this number of tenants with budgets, every scrape asks the store, so that each replica shows the usage of all. */
const ASKED_MAX = 100

/** Beyond it figures may be as old as scrapes are apart; those of tenants that send requests are younger anyway. */
const SHOWN_AGE_MS = 15_000

/** Asked for at a time: thousands at once would keep the store from answering requests in time. */
const LANES = 32

/** After this many, requests have their turn: a store in memory answers at once, and thousands would be one long pause. */
const ASKED_IN_A_TURN = 500

/** A scrape waits no longer; a tenant that was not reached by then keeps its last value until the next scrape. */
const WAIT_MS = 5_000

/** Scrapes wait until the gauges show the figures of the store. */
export function showBudgetsAtScrapes(gateway: Gateway): void {
  let asking: Promise<void> | undefined
  const collect = () => {
    asking ??= showBudgets(gateway).finally(() => {
      asking = undefined
    })
    return within(WAIT_MS, asking)
  }
  gateway.metrics.budgetTokens.collect = collect
  gateway.metrics.budgetSpend.collect = collect
}

async function showBudgets(gateway: Gateway): Promise<void> {
  closeHours(gateway)
  forgetRemoved(gateway)
  const { budgets } = gateway.active.snapshot.section
  const ageMs = budgets.length > ASKED_MAX ? SHOWN_AGE_MS : 0
  for (let first = 0; first < budgets.length; first += ASKED_IN_A_TURN) {
    if (first > 0) await turn()
    const waiting = budgets.slice(first, first + ASKED_IN_A_TURN).values()
    const lane = async () => {
      // If the store does not answer for a tenant, its gauges keep their last values.
      for (const { tenant } of waiting) await show(tenant, ageMs, gateway).catch(() => undefined)
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }
}

async function show(tenant: string, ageMs: number, gateway: Gateway): Promise<void> {
  const { active, store, metrics } = gateway
  const { tokens, spend } = await store.read(tenant, active.snapshot.limits.rules.of(tenant), ageMs)
  if (tokens !== undefined) metrics.budgetTokens.at(tenant, 'day').value = tokens.settled
  if (spend !== undefined) metrics.budgetSpend.at(tenant, 'month').value = spend.settled / 1e9
}

async function within(ms: number, asking: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([asking, late])
  clearTimeout(timer)
}

/** Charges the hour that has ended, if one has, before anybody reads what was charged. */
export function closeHours({ active, clock, infra, metrics }: Gateway): void {
  const perHour = active.snapshot.section.pricing?.infra_cost_per_hour_usd ?? 0
  for (const { tenant, nanos } of infra.close(clock.wall(), perHour * 1e9)) {
    metrics.infraCost.at(tenant).value += nanos / 1e9
  }
}

/** A gauge without a budget would show its last value for ever. */
function forgetRemoved({ active, metrics }: Gateway): void {
  const { budgets } = active.snapshot.section
  const caps = new Map(budgets.map((budget) => [budget.tenant, budget]))
  const hasTokens = (tenant: string) => caps.get(tenant)?.tokens_per_day !== undefined
  const hasSpend = (tenant: string) => caps.get(tenant)?.spend_per_month_usd !== undefined
  metrics.budgetTokens.retain('tenant', hasTokens)
  metrics.budgetSpend.retain('tenant', hasSpend)
}
