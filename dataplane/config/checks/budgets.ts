/** Budgets of tenants. */
import { refuse, warn } from '../problems.ts'
import { at, type Check, quoted } from './contract.ts'
import { unknownName } from './names.ts'
import { routesOfTenant } from './prices.ts'

const budgetHasCap: Check = ({ budgets }) =>
  budgets.flatMap(({ tenant, tokens_per_day, spend_per_month_usd }, index) =>
    tokens_per_day === undefined && spend_per_month_usd === undefined
      ? [
          refuse(
            at('budgets', index),
            `the budget of ${quoted(tenant)} has no cap`,
            'Add tokens_per_day or spend_per_month_usd.',
          ),
        ]
      : [],
  )

const downgradeHasRoute: Check = ({ budgets }) =>
  budgets.flatMap(({ on_exceeded, downgrade_route }, index) => {
    if (on_exceeded === 'downgrade' && downgrade_route === undefined) {
      const fix = 'Add downgrade_route: with the name of a route.'
      return [refuse(at('budgets', index, 'on_exceeded'), 'downgrade needs downgrade_route', fix)]
    }
    if (on_exceeded === 'reject' && downgrade_route !== undefined) {
      const message = 'cannot take effect: on_exceeded is reject'
      const fix = 'Write on_exceeded: downgrade, or remove it.'
      return [refuse(at('budgets', index, 'downgrade_route'), message, fix)]
    }
    return []
  })

const downgradeRouteExists: Check = ({ budgets, routes, aliases }) => {
  const known = new Set(routes.map(({ name }) => name))
  return budgets.flatMap(({ downgrade_route: name }, index) => {
    if (name === undefined) return []
    const path = at('budgets', index, 'downgrade_route')
    const target = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    if (known.has(name) || target === undefined) return unknownName(name, path, 'route', known)
    const message = `${quoted(name)} is an alias; a budget downgrades to a route`
    return [refuse(path, message, `Name the route: ${quoted(target)}.`)]
  })
}

const thresholdsRise: Check = ({ budgets }) =>
  budgets.flatMap(({ alert_thresholds }, index) =>
    alert_thresholds.flatMap((threshold, entry) => {
      const before = alert_thresholds[entry - 1]
      if (before === undefined || threshold > before) return []
      const message = threshold === before ? 'is there twice' : `comes after ${before}`
      const path = at('budgets', index, 'alert_thresholds', entry)
      return [refuse(path, `${threshold} ${message}`, 'List each fraction once, rising.')]
    }),
  )

const budgetsSurviveRestart: Check = ({ budgets, rate_limits, state_dir }) =>
  budgets.length > 0 && rate_limits?.backend !== 'redis' && state_dir === undefined
    ? [
        warn(
          at('budgets'),
          'kept in memory only: a restart forgets what was used',
          'Add state_dir:, or rate_limits with backend: redis.',
        ),
      ]
    : []

const budgetRoutesHaveTokenDefault: Check = (section) => {
  const names = new Set(
    section.budgets.flatMap(({ tenant }) =>
      routesOfTenant(section, tenant).map(({ name }) => name),
    ),
  )
  return section.routes.flatMap(({ name, max_tokens_default }, index) =>
    names.has(name) && max_tokens_default === undefined
      ? [
          warn(
            at('routes', index),
            `a budget applies to ${quoted(name)}, which has no max_tokens_default: 4096 is reserved`,
            'Add max_tokens_default: with the tokens that an answer usually stays under.',
          ),
        ]
      : [],
  )
}

export const budgetChecks = [
  budgetHasCap,
  downgradeHasRoute,
  downgradeRouteExists,
  thresholdsRise,
  budgetsSurviveRestart,
  budgetRoutesHaveTokenDefault,
]
