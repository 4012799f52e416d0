/** Budgets of entries of `limits[]` that cannot take effect. */
import { compilePrices } from '../../../accounts/price.ts'
import { isTimeZone } from '../../../accounts/zone.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import { type Finding, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'
import { eachLimit } from './further-limits.ts'
import { upstreamsOf } from './prices.ts'

const limitBudgetIsWhole: Check = (section) =>
  eachLimit(section, ({ budget }, path) => {
    if (budget === undefined) return []
    const place = [...path, 'budget']
    const { usd, tokens, on_exceeded, downgrade_route, alerts } = budget
    const found: Finding[] = []
    if ((usd === undefined) === (tokens === undefined)) {
      const message = usd === undefined ? 'has no cap' : 'has both usd and tokens'
      found.push(refuse(place, message, 'Write one of usd and tokens; write two limits for both.'))
    }
    if (on_exceeded === 'downgrade' && downgrade_route === undefined) {
      const fix = 'Add downgrade_route: with the name of a route.'
      found.push(refuse([...place, 'on_exceeded'], 'downgrade needs downgrade_route', fix))
    }
    if (on_exceeded === 'reject' && downgrade_route !== undefined) {
      const fix = 'Write on_exceeded: downgrade, or remove it.'
      const message = 'cannot take effect: on_exceeded is reject'
      found.push(refuse([...place, 'downgrade_route'], message, fix))
    }
    for (const [entry, threshold] of alerts.entries()) {
      const before = alerts[entry - 1]
      if (before === undefined || threshold > before) continue
      const message = `${threshold} ${threshold === before ? 'is there twice' : `comes after ${before}`}`
      found.push(refuse([...place, 'alerts', entry], message, 'List each fraction once, rising.'))
    }
    return found
  })

const limitWindowExists: Check = (section) =>
  eachLimit(section, ({ budget }, path) => {
    const zone = budget?.time_zone
    if (zone === undefined) return []
    const place = [...path, 'budget', 'time_zone']
    if (budget?.per === 'total')
      return [refuse(place, 'cannot take effect: per is total', 'Remove it.')]
    if (isTimeZone(zone)) return []
    const fix = 'Write an IANA name such as Europe/Berlin.'
    return [refuse(place, `there is no time zone ${quoted(zone)}`, fix)]
  })

const limitRaiseFits: Check = (section, { now }) =>
  eachLimit(section, ({ budget }, path) => {
    const { raise } = budget ?? {}
    if (budget === undefined || raise === undefined) return []
    const place = [...path, 'budget', 'raise']
    const unit = budget.usd === undefined ? 'tokens' : 'usd'
    const other = unit === 'usd' ? 'tokens' : 'usd'
    if (raise[unit] === undefined || raise[other] !== undefined) {
      const message = `must add ${unit}, as the cap is in ${unit}`
      return [refuse(place, message, `Write ${unit} with the amount to add.`)]
    }
    if (now === undefined || Date.parse(raise.until) > now) return []
    const message = `has no effect any more: it ended at ${raise.until}`
    return [warn([...place, 'until'], message, 'Remove raise, or write a later moment.')]
  })

/** Money needs prices, on all routes that the limit may be for. */
const limitSpendHasPrices: Check = (section) => {
  const priced = compilePrices(section.pricing)
  return eachLimit(section, ({ for: { route, upstream }, budget }, path) => {
    if (budget?.usd === undefined) return []
    const routes = section.routes.filter(
      ({ name }) => route === undefined || name === route || name === budget.downgrade_route,
    )
    const models = routes.flatMap((one) =>
      upstreamsOf(section, one)
        .filter(({ name }) => upstream === undefined || name === upstream)
        .flatMap(({ model }) => (model === ANY_MODEL ? [] : model)),
    )
    const missing = [...new Set(models)].filter((model) => !priced.has(model))
    if (missing.length === 0) return []
    const message = `cannot bind: no price for ${missing.map(quoted).join(', ')}`
    const fix = 'Add the models to pricing, with 0 for those that cost nothing.'
    return [refuse([...path, 'budget', 'usd'], message, fix)]
  })
}

const limitsSurviveRestart: Check = ({ limits, budgets, rate_limits, state_dir }) => {
  const index = limits.findIndex(({ budget }) => budget !== undefined)
  if (index === -1 || budgets.length > 0) return []
  if (rate_limits?.backend === 'redis' || state_dir !== undefined) return []
  const message = 'kept in memory only: a restart forgets what was used'
  const fix = 'Add rate_limits with backend: redis, or, outside of a cluster, state_dir:.'
  return [warn(at('limits', index, 'budget'), message, fix)]
}

export const furtherBudgetChecks = [
  limitBudgetIsWhole,
  limitWindowExists,
  limitRaiseFits,
  limitSpendHasPrices,
  limitsSurviveRestart,
]
