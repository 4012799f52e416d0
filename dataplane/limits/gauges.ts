/** Updates the gauges of budgets at each scrape. */
import { setImmediate as turn } from 'node:timers/promises'
import { type BudgetSection, EACH_TENANT, labelOf, scopeOf } from '../accounts/holders.ts'
import type { BudgetFigure } from '../accounts/store.ts'
import { dayOf, monthOf } from '../accounts/windows.ts'
import type { Snapshot } from '../config/snapshot.ts'
import { beginAlerts } from './alerts/alert-series.ts'
import { knownTenants } from './known-tenants.ts'
import type { LimitParts } from './parts.ts'
import { budgetsOfLimits, showBudgetsOfLimits } from './shown/limit-gauges.ts'

type ShownLimits = Pick<LimitParts, 'active' | 'clock' | 'infra' | 'metrics' | 'store'>

/** Up to this number of tenants with budgets, every scrape reads the store, so that each replica shows the usage of all. */
const ASKED_MAX = 100

/** With more tenants, figures may be as old as the interval of scrapes; those of active tenants are newer anyway. */
const SHOWN_AGE_MS = 15_000

/** Number of tenants read at once; thousands would delay the store's answers to requests. */
const LANES = 32

/** Most tenants shown for a budget of each tenant. */
const TENANTS_SHOWN = 1_000

/** After this many tenants, requests get a turn: a store in memory answers at once, so thousands would block the event loop. */
const ASKED_IN_A_TURN = 500

/** Longest wait of a scrape. A tenant that was not read by then keeps its last value until the next scrape. */
const WAIT_MS = 5_000

/** Makes scrapes wait until the gauges show the figures of the store. */
export function showBudgetsAtScrapes(gateway: ShownLimits): void {
  let asking: Promise<void> | undefined
  const collect = () => {
    asking ??= showBudgets(gateway).finally(() => {
      asking = undefined
    })
    return within(WAIT_MS, asking)
  }
  const { metrics } = gateway
  const { limitTokens, limitSpend, limitUsed } = metrics
  const { budgetStart, budgetEnd } = metrics
  const families = [
    ...ofTokens(metrics),
    ...ofSpend(metrics),
    ...[budgetStart, budgetEnd, limitTokens, limitSpend, limitUsed],
  ]
  for (const family of families) family.collect = collect
}

async function showBudgets(gateway: ShownLimits): Promise<void> {
  closeHours(gateway)
  forgetRemoved(gateway)
  // Done at scrapes, because keys, and so tenants, change without a new configuration.
  beginAlerts(gateway.metrics, gateway.active.snapshot)
  const tenants = askedOf(gateway.active.snapshot)
  const ageMs = tenants.length > ASKED_MAX ? SHOWN_AGE_MS : 0
  const asked = [
    ...tenants.map((one) => () => show(one, ageMs, gateway)),
    ...budgetsOfLimits(gateway).map((one) => () => showBudgetsOfLimits(one, gateway)),
  ]
  for (let first = 0; first < asked.length; first += ASKED_IN_A_TURN) {
    if (first > 0) await turn()
    const waiting = asked.slice(first, first + ASKED_IN_A_TURN).values()
    const lane = async () => {
      // If the store does not answer, the gauges keep their last values.
      for (const read of waiting) await read().catch(() => undefined)
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }
}

/** A tenant, and its key if the key has a budget. */
interface BudgetQuestion {
  readonly tenant: string
  readonly key?: string
}

/** The fewest reads that show every budget; the figures of one tenant include the budgets of its groups. */
function askedOf(snapshot: Snapshot): BudgetQuestion[] {
  const { section, keys } = snapshot
  const tenants = new Set<string>()
  const budgeted = new Set<string>()
  for (const { tenant, tenants: group, key } of section.budgets) {
    if (key !== undefined) budgeted.add(key)
    else if (tenant === EACH_TENANT) addFirst(tenants, knownTenants(snapshot))
    else if (tenant !== undefined) tenants.add(tenant)
    else if (group?.[0] !== undefined) tenants.add(group[0])
  }
  const asked: BudgetQuestion[] = [...tenants].map((tenant) => ({ tenant }))
  if (budgeted.size === 0) return asked
  for (const { record } of keys.values()) {
    if (budgeted.has(record.id)) asked.push({ tenant: record.tenant, key: record.id })
  }
  return asked
}

function addFirst(tenants: Set<string>, known: Iterable<string>): void {
  for (const tenant of known) {
    if (tenants.size >= TENANTS_SHOWN) return
    tenants.add(tenant)
  }
}

async function show(
  { tenant, key }: BudgetQuestion,
  ageMs: number,
  gateway: ShownLimits,
): Promise<void> {
  const { active, store, metrics } = gateway
  const rules = active.snapshot.limits.rules.of(tenant, key)
  const { tokens, spend, scoped = [] } = await store.read(tenant, rules, ageMs)
  const { budgetTokens, budgetTokensLimit, budgetSpend, budgetSpendLimit } = metrics
  if (tokens !== undefined) {
    budgetTokens.at(tenant, 'day').value = tokens.settled
    budgetTokensLimit.at(tenant, 'day').value = tokens.limit
    showWindow(tenant, 'day', tokens, metrics)
  }
  if (spend !== undefined) {
    budgetSpend.at(tenant, 'month').value = spend.settled / 1e9
    budgetSpendLimit.at(tenant, 'month').value = spend.limit / 1e9
    showWindow(tenant, 'month', spend, metrics)
  }
  for (const { scope, tokens: day, spend: month } of scoped) {
    const budget = labelOf(scope)
    if (day !== undefined) metrics.scopedBudgetTokens.at(budget, 'day').value = day.settled
    if (month !== undefined) {
      metrics.scopedBudgetSpend.at(budget, 'month').value = month.settled / 1e9
    }
  }
}

function showWindow(
  tenant: string,
  window: 'day' | 'month',
  { resetsAt }: BudgetFigure,
  { budgetStart, budgetEnd }: ShownLimits['metrics'],
): void {
  const startsAt = (window === 'day' ? dayOf : monthOf)(resetsAt - 1).startsAt
  budgetStart.at(tenant, window).value = startsAt / 1000
  budgetEnd.at(tenant, window).value = resetsAt / 1000
}

async function within(ms: number, asking: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([asking, late])
  clearTimeout(timer)
}

/** Charges the hour that has ended, if any, before the scrape reads the charges. */
export function closeHours({ active, clock, infra, metrics }: ShownLimits): void {
  const perHour = active.snapshot.section.pricing?.infra_cost_per_hour_usd ?? 0
  for (const { tenant, nanos } of infra.close(clock.wall(), perHour * 1e9)) {
    metrics.infraCost.at(tenant).value += nanos / 1e9
  }
}

/** Removes gauges of removed budgets, which would show their last value for ever. */
function forgetRemoved({ active, metrics }: ShownLimits): void {
  const { budgets } = active.snapshot.section
  const withTokens = budgets.filter(({ tokens_per_day }) => tokens_per_day !== undefined)
  const withSpend = budgets.filter(({ spend_per_month_usd }) => spend_per_month_usd !== undefined)
  const hasTokens = isHolder(withTokens, budgets)
  const hasSpend = isHolder(withSpend, budgets)
  for (const family of ofTokens(metrics)) family.retain('tenant', hasTokens)
  for (const family of ofSpend(metrics)) family.retain('tenant', hasSpend)
  for (const family of [metrics.budgetStart, metrics.budgetEnd]) {
    family.retain('tenant', (tenant) => hasTokens(tenant) || hasSpend(tenant))
    family.retain('window', (window) => (window === 'day' ? withTokens : withSpend).length > 0)
  }
  const scopes = (some: typeof budgets) =>
    new Set(some.flatMap((one) => scopeOf(one) ?? []).map((scope) => labelOf(scope)))
  const tokenScopes = scopes(withTokens)
  const spendScopes = scopes(withSpend)
  metrics.scopedBudgetTokens.retain('budget', (label) => tokenScopes.has(label))
  metrics.scopedBudgetSpend.retain('budget', (label) => spendScopes.has(label))
}

function ofTokens({ budgetTokens, budgetTokensLimit }: ShownLimits['metrics']) {
  return [budgetTokens, budgetTokensLimit]
}

function ofSpend({ budgetSpend, budgetSpendLimit }: ShownLimits['metrics']) {
  return [budgetSpend, budgetSpendLimit]
}

/** Whether a budget among `some` applies to the tenant: its own of `all`, or if it has none, the one for each tenant. */
function isHolder(some: readonly BudgetSection[], all: readonly BudgetSection[]) {
  const named = new Set(all.map(({ tenant }) => tenant))
  const holders = new Set(some.map(({ tenant }) => tenant))
  const forEach = holders.has(EACH_TENANT)
  return (tenant: string) => holders.has(tenant) || (forEach && !named.has(tenant))
}
