/** Shadows that cannot take effect, or that would touch the requests that they copy. */
import { EACH_TENANT } from '../../../accounts/holders.ts'
import { compilePrices } from '../../../accounts/price.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { RouteSection, Section, ShadowSection } from '../../../schema/index.ts'
import { type Path, refuse } from '../../judgement/problems.ts'
import { upstreamNamesOf } from '../../routes/members.ts'
import { Placements } from '../../routes/placements.ts'
import { at, type Check, quoted } from '../contract.ts'

interface ShadowAt {
  readonly route: RouteSection
  readonly shadow: ShadowSection
  readonly path: Path
}

/** Failures of copies open the breaker of their upstream. */
const shadowServesNoClient: Check = (section) =>
  foundIn(section).flatMap(({ route, shadow: { upstream }, path }) => {
    const isMember = upstreamNamesOf(route, section.routes).includes(upstream)
    if (!isMember && route.rollout?.to !== upstream) return []
    const message = `upstream ${quoted(upstream)} serves the requests of the route`
    return [refuse([...path, 'upstream'], message, 'Name an upstream that the route does not use.')]
  })

const shadowHasModel: Check = (section) =>
  foundIn(section).flatMap(({ shadow: { upstream: name }, path }) => {
    const upstream = section.upstreams.find((one) => one.name === name)
    if (upstream?.model !== ANY_MODEL) return []
    const message = `upstream ${quoted(name)} takes any model, so that of the copies is unknown`
    return [refuse([...path, 'upstream'], message, 'Name an upstream with a model.')]
  })

const shadowTenantIsOwn: Check = (section) => {
  const keys = new Set(section.api_keys.map(({ tenant }) => tenant))
  return foundIn(section).flatMap(({ shadow: { tenant }, path }) => {
    if (!keys.has(tenant)) return []
    const message = `tenant ${quoted(tenant)} has keys, so copies would use up its limits and budget`
    return [refuse([...path, 'tenant'], message, 'Name a tenant that only pays for copies.')]
  })
}

const shadowMayBePlaced: Check = (section) => {
  const placements = Placements.of(section)
  return foundIn(section).flatMap(({ shadow: { upstream, tenant }, path }) => {
    const placement = placements?.of(tenant)
    if (placement === undefined || placement.permitted.has(upstream)) return []
    const message = `upstream ${quoted(upstream)} lacks the labels that tenant ${quoted(tenant)} requires: ${placement.labels}`
    return [refuse([...path, 'upstream'], message, 'Name an upstream with these labels.')]
  })
}

const shadowBudgetHasPrice: Check = (section) => {
  const priced = compilePrices(section.pricing)
  return foundIn(section).flatMap(({ shadow: { upstream, tenant }, path }) => {
    const model = section.upstreams.find(({ name }) => name === upstream)?.model
    const isBound = section.budgets.some(
      (budget) =>
        budget.spend_per_month_usd !== undefined &&
        (budget.tenant === tenant ||
          budget.tenant === EACH_TENANT ||
          budget.tenants?.includes(tenant)),
    )
    if (!isBound || typeof model !== 'string' || priced.has(model)) return []
    const message = `the budget in money of tenant ${quoted(tenant)} cannot bind: no price for ${quoted(model)}`
    const fix = 'Add the model to pricing, with price 0 for a free one.'
    return [refuse([...path, 'tenant'], message, fix)]
  })
}

export const shadowChecks: readonly Check[] = [
  shadowServesNoClient,
  shadowHasModel,
  shadowTenantIsOwn,
  shadowMayBePlaced,
  shadowBudgetHasPrice,
]

function foundIn({ routes }: Section): ShadowAt[] {
  return routes.flatMap((route, index) => {
    const { shadow } = route
    return shadow === undefined ? [] : [{ route, shadow, path: at('routes', index, 'shadow') }]
  })
}
