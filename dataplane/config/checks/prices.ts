/** Money needs prices: a spend budget over a model without one would never bind. */
import { refuse, warn } from '../problems.ts'
import type { RouteSection, Section } from '../schema.ts'
import { at, type Check, listed, quoted } from './contract.ts'

const spendBudgetsHavePrices: Check = (section) => {
  const priced = new Set((section.pricing?.models ?? []).map(({ model }) => model))
  return section.budgets.flatMap((budget, index) => {
    if (budget.spend_per_month_usd === undefined) return []
    const downgrade = section.routes.filter(({ name }) => name === budget.downgrade_route)
    const routes = [...routesOfTenant(section, budget.tenant), ...downgrade]
    const models = new Set(routes.flatMap((route) => modelsOf(section, route)))
    const missing = [...models].filter((model) => !priced.has(model))
    if (missing.length === 0) return []
    const message = `cannot bind: no price for ${listed(missing)}`
    const fix = 'Add the models to pricing, with 0 for those that cost nothing.'
    return [refuse(at('budgets', index, 'spend_per_month_usd'), message, fix)]
  })
}

const downgradeIsNotDearer: Check = (section) =>
  section.budgets.flatMap(({ tenant, downgrade_route }, index) => {
    const route = section.routes.find(({ name }) => name === downgrade_route)
    if (route === undefined) return []
    const usual = routesOfTenant(section, tenant).filter((one) => one !== route)
    const before = dearest(section, usual)
    const after = dearest(section, [route])
    if (before === undefined || after === undefined || after <= before) return []
    const message = `the route ${quoted(route.name)} is dearer than those it relieves`
    const fix = 'Name a route with a cheaper model.'
    return [warn(at('budgets', index, 'downgrade_route'), message, fix)]
  })

export const priceChecks = [spendBudgetsHavePrices, downgradeIsNotDearer]

/** Routes that keys of the tenant may use; all of them while no key of the tenant is known. */
export function routesOfTenant(section: Section, tenant: string): RouteSection[] {
  const keys = section.api_keys.filter((key) => key.tenant === tenant)
  const names = new Set(keys.flatMap(({ routes }) => routes))
  if (keys.length === 0 || names.has('*')) return section.routes
  return section.routes.filter(({ name }) => names.has(name))
}

function modelsOf({ upstreams }: Section, route: RouteSection): string[] {
  const { primary, fallback, semantic } = route
  const names = new Set([
    ...route.upstreams.map(({ name }) => name),
    primary,
    ...fallback,
    semantic?.easy,
    semantic?.hard,
  ])
  return upstreams.flatMap(({ name, model }) => (names.has(name) ? [model] : []))
}

/** Input and output price together of the dearest model; nothing if a price is missing. */
function dearest(section: Section, routes: readonly RouteSection[]): number | undefined {
  const prices = new Map(
    (section.pricing?.models ?? []).map(({ model, input, output }) => [model, input + output]),
  )
  const sums = routes.flatMap((route) => modelsOf(section, route)).map((name) => prices.get(name))
  const known = sums.filter((sum) => sum !== undefined)
  return known.length === 0 || known.length < sums.length ? undefined : Math.max(...known)
}
