/** Money needs prices: a spend budget on a model without a price would have no effect. */

import { compilePrices } from '../../../accounts/price.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { RouteSection, Section, UpstreamSection } from '../../../schema/index.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { upstreamNamesOf } from '../../routes/members.ts'
import { at, type Check, listed, quoted } from '../contract.ts'
import { routesByBudget } from './holders.ts'

const spendBudgetsHavePrices: Check = (section) => {
  const priced = compilePrices(section.pricing)
  const routesOf = routesByBudget(section)
  const missingAt = new Map(
    section.routes.map((route) => [
      route,
      modelsOf(section, route).filter((model) => !priced.has(model)),
    ]),
  )
  return section.budgets.flatMap((budget, index) => {
    if (budget.spend_per_month_usd === undefined) return []
    const downgrade = section.routes.filter(({ name }) => name === budget.downgrade_route)
    const routes = [...routesOf(budget), ...downgrade]
    const missing = new Set(routes.flatMap((route) => missingAt.get(route) ?? []))
    if (missing.size === 0) return []
    const message = `cannot bind: no price for ${listed(missing)}`
    const fix = 'Add the models to pricing, with price 0 for free ones.'
    return [refuse(at('budgets', index, 'spend_per_month_usd'), message, fix)]
  })
}

const downgradeIsNotDearer: Check = (section) => {
  const routesOf = routesByBudget(section)
  const prices = new Map(
    (section.pricing?.models ?? []).map(({ model, input, output }) => [model, input + output]),
  )
  const pricesAt = new Map(
    section.routes.map((route) => [
      route,
      modelsOf(section, route).map((model) => prices.get(model)),
    ]),
  )
  const dearestOf = (routes: readonly RouteSection[]) =>
    dearest(routes.flatMap((route) => pricesAt.get(route) ?? []))
  return section.budgets.flatMap((budget, index) => {
    const route = section.routes.find(({ name }) => name === budget.downgrade_route)
    if (route === undefined) return []
    const before = dearestOf(routesOf(budget).filter((one) => one !== route))
    const after = dearestOf([route])
    if (before === undefined || after === undefined || after <= before) return []
    const message = `the route ${quoted(route.name)} costs more than the routes that it replaces`
    const fix = 'Name a route with a cheaper model.'
    return [warn(at('budgets', index, 'downgrade_route'), message, fix)]
  })
}

/** A second tier for the same length would never apply. */
const tiersDiffer: Check = ({ pricing }) =>
  (pricing?.models ?? []).flatMap(({ tiers = [] }, index) =>
    tiers.flatMap(({ above_input_tokens }, place) => {
      const first = tiers.findIndex((tier) => tier.above_input_tokens === above_input_tokens)
      if (first === place) return []
      const path = at('pricing', 'models', index, 'tiers', place, 'above_input_tokens')
      const message = `cannot take effect: tier ${first + 1} begins at the same length`
      return [refuse(path, message, 'Write another length, or remove one of them.')]
    }),
  )

export const priceChecks = [spendBudgetsHavePrices, downgradeIsNotDearer, tiersDiffer]

export function modelsOf(section: Section, route: RouteSection): string[] {
  // A model that a client names is judged when it is asked for.
  return upstreamsOf(section, route).flatMap(({ model }) => (model === ANY_MODEL ? [] : model))
}

export function upstreamsOf(
  { upstreams, routes }: Section,
  route: RouteSection,
): UpstreamSection[] {
  const names = new Set(upstreamNamesOf(route, routes))
  if (route.rollout !== undefined) names.add(route.rollout.to)
  return upstreams.filter(({ name }) => names.has(name))
}

/** The highest sum of input and output price; undefined if a price is missing. */
function dearest(prices: readonly (number | undefined)[]): number | undefined {
  const known = prices.filter((price) => price !== undefined)
  return known.length === 0 || known.length < prices.length ? undefined : Math.max(...known)
}
