/** Compiles the sections `rate_limits` and `budgets` to the rules of each tenant, once per configuration. */

import type { Section } from '../schema/index.ts'
import { EACH_TENANT, scopeOf } from './holders.ts'
import { MONEY_MAX_NANOS, nanosOf } from './price.ts'
import type { BudgetRule, Rules, ScopedBudget } from './store.ts'

type RateLimits = NonNullable<Section['rate_limits']>
type LimitFields = NonNullable<RateLimits['default']>

/** The limits if a file has no default. */
export const DEFAULT_LIMITS = {
  requests_per_minute: 120,
  burst: 30,
  concurrent_requests: 16,
} as const satisfies LimitFields

export interface TenantRules {
  /** `key`: the id of the caller's key; if absent, the rules omit the budgets of keys. */
  of(tenant: string, key?: string): Rules
  /** Tenants that a rule or a budget names. */
  readonly named: ReadonlySet<string>
  /** Ids of the keys that have a budget. */
  readonly budgetedKeys: ReadonlySet<string>
  /** Whether a budget applies to tenants that no budget names. */
  readonly hasBudgetForEach: boolean
  /** Whether the tenant has `priority: low`, so that the last quarter of an upstream's places stays free for others. */
  yields(tenant: string): boolean
}

/** Tenants without a rule share one object. */
export function compileRules({
  rate_limits,
  budgets,
}: Pick<Section, 'rate_limits' | 'budgets'>): TenantRules {
  const whole: LimitFields = rate_limits?.default ?? DEFAULT_LIMITS
  const own = new Map((rate_limits?.tenants ?? []).map((rule) => [rule.tenant, rule]))
  const { caps, forEach, groups, keys } = compileBudgets(budgets)
  const others = rulesOf(whole, {}, forEach)
  const named = new Set([...own.keys(), ...caps.keys(), ...groups.keys()])
  const rules = new Map(
    [...named].map((tenant) => {
      const rule = rulesOf(whole, own.get(tenant) ?? {}, caps.get(tenant) ?? forEach)
      return [tenant, withScoped(rule, groups.get(tenant))]
    }),
  )
  const lowByDefault = whole.priority === 'low'
  const low = new Set(
    [...own.values()].filter((rule) => isLow(rule) ?? lowByDefault).map(({ tenant }) => tenant),
  )
  const ofTenant = (tenant: string) => rules.get(tenant) ?? others
  const ofKey = new Map<string, Rules>()
  return {
    of(tenant, key) {
      if (keys.size === 0 || key === undefined) return ofTenant(tenant)
      const budget = keys.get(key)
      if (budget === undefined) return ofTenant(tenant)
      // Made once, because refusals are remembered by the identity of the rules.
      const place = `${key} ${tenant}`
      const known = ofKey.get(place)
      if (known !== undefined) return known
      const made = ofTenant(tenant)
      const all = withScoped(made, [budget, ...(made.scoped ?? [])])
      ofKey.set(place, all)
      return all
    },
    named,
    budgetedKeys: new Set(keys.keys()),
    hasBudgetForEach: forEach !== undefined,
    yields: (tenant) => low.has(tenant) || (lowByDefault && !own.has(tenant)),
  }
}

/** The budgets by their holders. */
function compileBudgets(budgets: Section['budgets']) {
  const caps = new Map<string, BudgetRule>()
  const groups = new Map<string, ScopedBudget[]>()
  const keys = new Map<string, ScopedBudget>()
  let forEach: BudgetRule | undefined
  for (const budget of budgets) {
    const { tenant, tenants = [], key } = budget
    const rule = budgetRule(budget)
    const scope = scopeOf(budget)
    if (scope === undefined) {
      if (tenant === EACH_TENANT) forEach = rule
      else if (tenant !== undefined) caps.set(tenant, rule)
    } else if (key !== undefined) keys.set(key, { scope, rule })
    else for (const one of tenants) groups.set(one, [...(groups.get(one) ?? []), { scope, rule }])
  }
  return { caps, forEach, groups, keys }
}

function withScoped(rules: Rules, scoped: readonly ScopedBudget[] | undefined): Rules {
  return scoped === undefined ? rules : Object.freeze({ ...rules, scoped })
}

/** Whether any budget applies; then requests are counted before they run. */
export function isBudgeted({ budget, scoped }: Rules): boolean {
  return budget !== undefined || (scoped?.some(({ rule }) => rule !== undefined) ?? false)
}

/** Whether a budget in money applies. */
export function isSpendBudgeted({ budget, scoped }: Rules): boolean {
  if (budget?.nanosPerMonth !== undefined) return true
  return scoped?.some(({ rule }) => rule?.nanosPerMonth !== undefined) ?? false
}

/** The route that serves while a budget is spent, as the narrowest budget with such a route names it. */
export function downgradeRouteOf({ budget, scoped = [] }: Rules): string | undefined {
  const ofKey = scoped.find(({ scope }) => scope.kind === 'key')
  const rules = [ofKey?.rule, budget, ...scoped.map(({ rule }) => rule)]
  return rules.find((rule) => rule?.downgradeRoute !== undefined)?.downgradeRoute
}

function isLow({ priority }: LimitFields): boolean | undefined {
  return priority === undefined ? undefined : priority === 'low'
}

function rulesOf(whole: LimitFields, own: LimitFields, budget: BudgetRule | undefined): Rules {
  const requestsPerMinute =
    own.requests_per_minute ?? whole.requests_per_minute ?? DEFAULT_LIMITS.requests_per_minute
  return Object.freeze({
    requestsPerMinute,
    burst: own.burst ?? whole.burst ?? Math.max(1, Math.floor(requestsPerMinute / 4)),
    concurrentRequests:
      own.concurrent_requests ?? whole.concurrent_requests ?? DEFAULT_LIMITS.concurrent_requests,
    tokensPerMinute: own.tokens_per_minute ?? whole.tokens_per_minute,
    budget,
  })
}

function budgetRule(budget: Section['budgets'][number]): BudgetRule {
  const usd = budget.spend_per_month_usd
  return Object.freeze({
    tokensPerDay: budget.tokens_per_day,
    nanosPerMonth: usd === undefined ? undefined : Math.min(MONEY_MAX_NANOS, nanosOf(usd)),
    onExceeded: budget.on_exceeded,
    ...(budget.on_exceeded === 'downgrade' && { downgradeRoute: budget.downgrade_route }),
    alertThresholds: budget.alert_thresholds,
  })
}
