/** Entries of `limits[]` for an upstream that cannot take effect. */
import { matcherOf } from '../../../accounts/further/selectors.ts'
import { refuse } from '../../judgement/problems.ts'
import { type Check, oneOf, quoted } from '../contract.ts'
import { unknownName } from '../names.ts'
import { eachLimit } from './further-limits.ts'
import { upstreamsOf } from './prices.ts'

const limitUpstreamsExist: Check = (section, { suggestions }) => {
  const known = new Set(section.upstreams.map(({ name }) => name))
  return eachLimit(section, ({ for: { upstream } }, path) =>
    upstream === undefined
      ? []
      : unknownName(upstream, [...path, 'for', 'upstream'], 'upstream', { known, suggestions }),
  )
}

const quotaIsPassedOver: Check = (section) =>
  eachLimit(section, ({ for: { upstream }, budget }, path) => {
    if (upstream === undefined || budget?.on_exceeded !== 'downgrade') return []
    const message = 'cannot take effect: an upstream whose quota is full is passed over'
    const fix = 'Remove it; add another upstream to the routes, or a fallback.'
    return [refuse([...path, 'budget', 'on_exceeded'], message, fix)]
  })

/** A quota of an upstream that no request of the limit can reach. */
const quotaFitsARequest: Check = (section) => {
  const known = new Map(section.upstreams.map((one) => [one.name, one]))
  const aliases = Object.entries(section.aliases)
  return eachLimit(section, ({ for: { upstream: name, route, model } }, path) => {
    const upstream = known.get(name ?? '')
    if (upstream === undefined) return []
    const routes = section.routes.filter((one) => upstreamsOf(section, one).includes(upstream))
    const place = [...path, 'for']
    if (routes.length === 0) {
      const message = `cannot take effect: no route uses upstream ${quoted(upstream.name)}`
      const names = new Set(section.routes.flatMap((one) => upstreamsOf(section, one)))
      return [
        refuse([...place, 'upstream'], message, oneOf(new Set([...names].map((one) => one.name)))),
      ]
    }
    const own = new Set(routes.map((one) => one.name))
    if (
      route !== undefined &&
      section.routes.some((one) => one.name === route) &&
      !own.has(route)
    ) {
      const message = `cannot take effect: route ${quoted(route)} does not use upstream ${quoted(upstream.name)}`
      return [refuse([...place, 'route'], message, oneOf(own))]
    }
    if (model === undefined || aliases.some(([alias]) => alias.endsWith('*'))) return []
    const fits = matcherOf({ model })
    const named = [...own, ...aliases.flatMap(([alias, to]) => (own.has(to) ? [alias] : []))]
    const mayFit = [...named, upstream.model].some((one) => fits(subjectOf(one)))
    if (mayFit) return []
    const message = `cannot take effect: upstream ${quoted(upstream.name)} gets no requests for such a model`
    return [refuse([...place, 'model'], message, oneOf(new Set([...named, upstream.model])))]
  })
}

export const quotaChecks = [limitUpstreamsExist, quotaIsPassedOver, quotaFitsARequest]

function subjectOf(model: string) {
  return { tenant: '', key: '', route: '', models: [], model, operation: 'chat' as const, tags: '' }
}
