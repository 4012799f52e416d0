/** From the sections `rate_limits` and `budgets` to the rule of each tenant, once per configuration. */
import { MONEY_MAX_NANOS, nanosOf } from '../budgets/price.ts'
import type { Section } from '../config/schema/index.ts'
import type { BudgetRule, Rules } from '../store/contract.ts'

type Limits = NonNullable<Section['rate_limits']>
type LimitFields = NonNullable<Limits['default']>

/** The limits where a file gives no default. */
export const DEFAULT_LIMITS = {
  requests_per_minute: 120,
  burst: 30,
  concurrent_requests: 16,
} as const satisfies LimitFields

export interface TenantRules {
  of(tenant: string): Rules
  /** Tenants that a rule or a budget names. */
  readonly named: ReadonlySet<string>
  /** `priority: low`: leaves the last quarter of a full upstream's places to the others. */
  yields(tenant: string): boolean
}

/** Tenants without their own rule share one object. */
export function compileRules({
  rate_limits,
  budgets,
}: Pick<Section, 'rate_limits' | 'budgets'>): TenantRules {
  const whole: LimitFields = rate_limits?.default ?? DEFAULT_LIMITS
  const own = new Map((rate_limits?.tenants ?? []).map((rule) => [rule.tenant, rule]))
  const caps = new Map(budgets.map((budget) => [budget.tenant, budgetRule(budget)]))
  const others = rulesOf(whole, {}, undefined)
  const named = new Set([...own.keys(), ...caps.keys()])
  const rules = new Map(
    [...named].map((tenant) => [tenant, rulesOf(whole, own.get(tenant) ?? {}, caps.get(tenant))]),
  )
  const lowByDefault = whole.priority === 'low'
  const low = new Set(
    [...own.values()].filter((rule) => isLow(rule) ?? lowByDefault).map(({ tenant }) => tenant),
  )
  return {
    of: (tenant) => rules.get(tenant) ?? others,
    named,
    yields: (tenant) => low.has(tenant) || (lowByDefault && !own.has(tenant)),
  }
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
    alertThresholds: budget.alert_thresholds,
  })
}
