/** Extras of an upstream: whether the provider has them, and whether budgets count their cost. */
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, listed } from '../contract.ts'
import { routesByBudget } from '../tenants/holders.ts'
import { upstreamsOf } from '../tenants/prices.ts'

const extrasExist: Check = ({ upstreams }) =>
  upstreams.flatMap(({ provider, allow = [] }, index) =>
    allow.flatMap((extra, place) => {
      const path = at('upstreams', index, 'allow', place)
      if (allow.indexOf(extra) !== place)
        return [refuse(path, `${extra} is there twice`, 'Remove one of them.')]
      if (PROVIDER_FACTS[provider].extras?.includes(extra)) return []
      const users = Object.values(PROVIDER_FACTS).filter(({ extras }) => extras?.includes(extra))
      const fix = `Remove it; ${users.map(({ name }) => name).join(', ')} use it.`
      return [refuse(path, `cannot take effect: ${provider} has no ${extra}`, fix)]
    }),
  )

const budgetsCountExtras: Check = (section) => {
  const searches = new Map(
    (section.pricing?.models ?? []).map(({ model, search }) => [model, search]),
  )
  const routesOf = routesByBudget(section)
  const spending = section.budgets.filter((budget) => budget.spend_per_month_usd !== undefined)
  const budgeted = new Set(
    spending.flatMap(routesOf).flatMap((route) => upstreamsOf(section, route)),
  )
  return section.upstreams.flatMap((upstream, index) => {
    const { allow = [], provider, model } = upstream
    if (!budgeted.has(upstream)) return []
    const { countsSearches = false } = PROVIDER_FACTS[provider]
    const isPriced = countsSearches && searches.get(model) !== undefined
    const uncounted = allow.filter(
      (extra) => !UNPRICED.has(extra) && !(extra === 'web_search' && isPriced),
    )
    if (uncounted.length === 0) return []
    const message = `a spend budget applies to this upstream, and does not count the price of ${listed(uncounted)}`
    const isPriceable = countsSearches && uncounted.includes('web_search')
    const fix = isPriceable
      ? 'Write the price of a search in pricing as search:, or remove the extras that cost more than tokens.'
      : 'Remove the extras that cost more than tokens.'
    return [warn(at('upstreams', index, 'allow'), message, fix)]
  })
}

/** These extras cost nothing in addition to tokens. */
const UNPRICED: ReadonlySet<string> = new Set(['files', 'mcp', 'store', 'web_fetch'])

export const allowChecks: readonly Check[] = [extrasExist, budgetsCountExtras]
