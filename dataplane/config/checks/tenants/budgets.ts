/** Budgets of tenants. */
import { holderOf } from '../../../accounts/holders.ts'
import { ANSWER_TOKENS_RESERVED } from '../../../accounts/reserve.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, listed, quoted } from '../contract.ts'
import { unknownName } from '../names.ts'
import { routesByBudget } from './holders.ts'

/** Most names in a warning about many routes. */
const ROUTES_NAMED = 5

const budgetHasCap: Check = ({ budgets }) =>
  budgets.flatMap((budget, index) =>
    budget.tokens_per_day === undefined && budget.spend_per_month_usd === undefined
      ? [
          refuse(
            at('budgets', index),
            `the budget of ${holderOf(budget)} has no cap`,
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

const downgradeRouteExists: Check = ({ budgets, routes, aliases }, { suggestions }) => {
  const known = new Set(routes.map(({ name }) => name))
  return budgets.flatMap(({ downgrade_route: name }, index) => {
    if (name === undefined) return []
    const path = at('budgets', index, 'downgrade_route')
    const target = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    if (known.has(name) || target === undefined) {
      return unknownName(name, path, 'route', { known, suggestions })
    }
    const message = `${quoted(name)} is an alias; a budget downgrades to a route`
    return [refuse(path, message, `Name the route: ${quoted(target)}.`)]
  })
}

/** A request to the downgrade route itself is served even if the budget is spent. */
const downgradeRelieves: Check = (section) => {
  const routesOf = routesByBudget(section)
  return section.budgets.flatMap((budget, index) => {
    const { downgrade_route: name } = budget
    const routes = routesOf(budget)
    if (name === undefined || routes.length === 0) return []
    if (routes.some((route) => route.name !== name)) return []
    const message = `limits nothing: the keys of ${holderOf(budget)} may use no other route than ${quoted(name)}`
    const fix = 'Name another route, or write on_exceeded: reject.'
    return [warn(at('budgets', index, 'downgrade_route'), message, fix)]
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
          'kept only in memory: a restart resets usage',
          'Add rate_limits with backend: redis, or, outside of a cluster, state_dir:.',
        ),
      ]
    : []

/** One warning for all routes: a tenant with a budget may use hundreds. */
const budgetRoutesHaveTokenDefault: Check = (section) => {
  const routesOf = routesByBudget(section)
  const budgeted = new Set(section.budgets.flatMap((budget) => routesOf(budget)))
  const unbounded = section.routes.filter(
    (route) => budgeted.has(route) && route.max_tokens_default === undefined,
  )
  const [first] = unbounded
  if (first === undefined) return []
  const names = unbounded.slice(0, ROUTES_NAMED).map(({ name }) => name)
  const others = unbounded.length - names.length
  const which = `${listed(names)}${others > 0 ? ` and ${others} more` : ''}`
  return [
    warn(
      at('routes', section.routes.indexOf(first)),
      `a budget applies to ${which}, which ${unbounded.length > 1 ? 'have' : 'has'} no max_tokens_default: ` +
        `if a client gives no limit, ${ANSWER_TOKENS_RESERVED} tokens (at most half of the context window) are reserved ` +
        'and no limit is sent upstream, so a longer answer may overshoot the budget',
      'Add max_tokens_default: with the most tokens that an answer needs; it is sent to the upstream then.',
    ),
  ]
}

export const budgetChecks = [
  budgetHasCap,
  downgradeHasRoute,
  downgradeRouteExists,
  downgradeRelieves,
  thresholdsRise,
  budgetsSurviveRestart,
  budgetRoutesHaveTokenDefault,
]
