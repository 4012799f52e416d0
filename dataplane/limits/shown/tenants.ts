/** The usage and the rest of tenants' limits, for refused requests, the admin API and gauges. */

import { labelOf } from '../../accounts/holders.ts'
import type { Figures, Rules, ScopedFigures, Store } from '../../accounts/store.ts'
import { Suggestions } from '../../config/judgement/nearest.ts'
import { closeHours } from '../gauges.ts'
import { limitHeaders, usdText } from '../headers.ts'
import { knownTenants, knowsTenant } from '../known-tenants.ts'
import type { LimitParts } from '../parts.ts'
import { countersShown } from './counters.ts'
import { bucketShown, budgetShown, slotsShown } from './figures.ts'

type ShownLimits = Pick<LimitParts, 'active' | 'clock' | 'infra' | 'metrics' | 'store'>

/** Requests rejected before admission must not each cost a store round trip. */
const TOLD_AGE_MS = 1_000

/** Most budgets of keys in one answer. */
const KEYS_SHOWN = 100

/** The limit headers of an answer to a request that was not admitted. */
export async function readLimitHeaders(
  tenant: string,
  rules: Rules,
  store: Pick<Store, 'read'>,
): Promise<Readonly<Record<string, string>>> {
  return limitHeaders(await store.read(tenant, rules, TOLD_AGE_MS))
}

/** The error text if no key, rule or budget names the tenant; else undefined. */
export function unknownTenant(
  tenant: string,
  { active }: Pick<LimitParts, 'active'>,
): string | undefined {
  if (knowsTenant(tenant, active.snapshot)) return undefined
  const names = new Set(knownTenants(active.snapshot))
  const nearest = new Suggestions().didYouMean(tenant, names)
  return `no such tenant "${tenant.slice(0, 100)}": no key, rule or budget names it${nearest}`
}

/** Body of GET /limits/{tenant}: every figure with its window and reset. */
export async function limitsOf(tenant: string, gateway: ShownLimits) {
  const { active, store, clock } = gateway
  const rules = active.snapshot.limits.rules.of(tenant)
  const figures = await store.read(tenant, rules)
  const infra = infraCostOf(tenant, gateway)
  return {
    tenant,
    ...standingOf(figures, rules, clock.wall()),
    ...scopedBudgets([...(figures.scoped ?? []), ...(await keyBudgets(tenant, gateway))]),
    ...(await countersShown({ tenant }, gateway)),
    ...(infra && { infra_cost_usd: infra }),
  }
}

/** The figures of a tenant's own limits and budgets. */
export function standingOf(figures: Figures, rules: Rules, now: number) {
  const { requests, tokenRate, concurrency, tokens, spend } = figures
  return {
    requests_per_minute: { ...bucketShown(requests, rules.burst, now), burst: rules.burst },
    ...(tokenRate && { tokens_per_minute: bucketShown(tokenRate, tokenRate.limit, now) }),
    concurrent_requests: slotsShown(concurrency),
    ...(tokens && { tokens_per_day: budgetShown('day', tokens, Number) }),
    ...(spend && { spend_per_month_usd: budgetShown('month', spend, usdText) }),
  }
}

/** Each figure by the name of its budget: `group:research tokens_per_day`. */
function scopedBudgets(all: readonly ScopedFigures[]) {
  return Object.fromEntries(
    all.flatMap(({ scope, tokens, spend }) => [
      ...(tokens ? [[`${labelOf(scope)} tokens_per_day`, budgetShown('day', tokens, Number)]] : []),
      ...(spend
        ? [[`${labelOf(scope)} spend_per_month_usd`, budgetShown('month', spend, usdText)]]
        : []),
    ]),
  )
}

/** The tenant's keys that have a budget; only the first ones if there are many. */
async function keyBudgets(
  tenant: string,
  { active, store }: ShownLimits,
): Promise<ScopedFigures[]> {
  const { keys, limits } = active.snapshot
  const { budgetedKeys } = limits.rules
  if (budgetedKeys.size === 0) return []
  const mine = keys
    .values()
    .map(({ record }) => record)
    .filter(({ id, tenant: of }) => of === tenant && budgetedKeys.has(id))
    .take(KEYS_SHOWN)
  const figures = [...mine].map(({ id }) => store.read(tenant, limits.rules.of(tenant, id)))
  return (await Promise.all(figures)).flatMap(({ scoped = [] }) =>
    scoped.filter(({ scope }) => scope.kind === 'key'),
  )
}

/** The tenant's share of the running hour so far, and its cost of earlier hours since the start of the process. */
function infraCostOf(tenant: string, gateway: ShownLimits) {
  const { active, clock, infra, metrics } = gateway
  const perHour = active.snapshot.section.pricing?.infra_cost_per_hour_usd
  if (perHour === undefined) return undefined
  closeHours(gateway)
  const { tokens, nanos, endsAt } = infra.sofar(tenant, clock.wall(), perHour * 1e9)
  // Reads the series without creating one for a tenant that does not exist.
  const charged = metrics.infraCost.entries().find(([labels]) => labels.tenant === tenant)
  const earlier = Math.round((charged?.[1].value ?? 0) * 1e9)
  return {
    window: 'hour',
    used: usdText(nanos),
    tokens,
    earlier_hours: usdText(earlier),
    resets_at: new Date(endsAt).toISOString(),
  }
}
