/** Limits and budgets of the tenants that may use a route. */
import { EACH_TENANT, holderOf } from '../../accounts/holders.ts'
import { DEFAULT_LIMITS } from '../../accounts/rules.ts'
import type { RouteSection, Section } from '../../schema/index.ts'

type Rule = NonNullable<NonNullable<Section['rate_limits']>['default']>
type Budget = Section['budgets'][number]

export function explainTenants(section: Section, { name }: RouteSection): string[] {
  const tenants = new Set(
    section.api_keys
      .filter(({ routes }) => routes.includes('*') || routes.includes(name))
      .map(({ tenant }) => tenant),
  )
  const rules = new Map(section.rate_limits?.tenants.map((rule) => [rule.tenant, rule]))
  const budgets = new Map(section.budgets.map((budget) => [budget.tenant, budget]))
  const keys = new Map(section.api_keys.map(({ id, tenant }) => [id, tenant]))
  return [...tenants].map((tenant) => {
    const budget = budgets.get(tenant) ?? budgets.get(EACH_TENANT)
    const facts = explainLimits(section, rules.get(tenant))
    if (budget !== undefined) facts.push(explainBudget(budget))
    for (const other of section.budgets) {
      const isShared = other.tenants?.includes(tenant) === true
      if (isShared) facts.push(`shared by ${holderOf(other)}: ${explainBudget(other)}`)
      const isOfKey = other.key !== undefined && keys.get(other.key) === tenant
      if (isOfKey) facts.push(`key ${other.key}: ${explainBudget(other)}`)
    }
    return `tenant ${tenant}: ${facts.join('; ')}`
  })
}

function explainLimits({ rate_limits }: Section, own: Rule | undefined): string[] {
  const whole: Rule = rate_limits?.default ?? DEFAULT_LIMITS
  const rule = { ...whole, ...own }
  const rate = rule.requests_per_minute ?? DEFAULT_LIMITS.requests_per_minute
  const burst = rule.burst ?? Math.max(1, Math.floor(rate / 4))
  const concurrent = rule.concurrent_requests ?? DEFAULT_LIMITS.concurrent_requests
  const scope = rate_limits?.backend === 'redis' ? 'over all replicas' : 'in each replica'
  return [
    `${rate} requests a minute, ${burst} at once, ${concurrent} simultaneous, ${scope}`,
    ...(rule.tokens_per_minute === undefined ? [] : [`${rule.tokens_per_minute} tokens a minute`]),
    ...(rule.priority === 'low'
      ? [
          'low priority: an upstream is full to it at three quarters of its max_queue_depth; with fairness, ' +
            'it has a fiftieth of its weight',
        ]
      : []),
  ]
}

function explainBudget(budget: Budget): string {
  const { tokens_per_day, spend_per_month_usd, on_exceeded, downgrade_route } = budget
  const caps = [
    ...(tokens_per_day === undefined ? [] : [`${tokens_per_day} tokens a UTC day`]),
    ...(spend_per_month_usd === undefined ? [] : [`${spend_per_month_usd} USD a UTC month`]),
  ]
  const then = on_exceeded === 'downgrade' ? `route ${downgrade_route}` : '402'
  const alerts = budget.alert_thresholds.map((threshold) => `${Math.round(threshold * 100)} %`)
  const alerted = alerts.length === 0 ? '' : `, alerts at ${alerts.join(', ')}`
  return `${caps.join(' and ')}, then ${then}${alerted}`
}
