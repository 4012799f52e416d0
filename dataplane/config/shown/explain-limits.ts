/** Entries of `limits[]` in words, for the routes that they are for. */
import { patternOf } from '../../accounts/further/selectors.ts'
import { EACH_TENANT } from '../../accounts/holders.ts'
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import type { RouteSection, Section } from '../../schema/index.ts'

interface RouteMembers {
  readonly models: readonly string[]
  readonly upstreams: readonly string[]
}

/** Each that may be for a request on the route, or for an attempt at one of its upstreams. */
export function explainFurther(
  section: Section,
  route: RouteSection,
  { models, upstreams }: RouteMembers,
) {
  const names = Object.entries(section.aliases)
    .filter(([, to]) => to === route.name)
    .map(([alias]) => alias)
  const all = [route.name, ...names, ...models]
  const mayFit = ({ for: { route: name, model, upstream } }: FurtherLimitSection) =>
    (upstream === undefined || upstreams.includes(upstream)) &&
    (name === undefined || name === route.name) &&
    (model === undefined || all.some(patternOf(model)) || names.some((one) => one.endsWith('*')))
  return section.limits.filter(mayFit).map(explainLimit)
}

function explainLimit(limit: FurtherLimitSection): string {
  const { name, for: selectors } = limit
  const { upstream, ...others } = selectors
  const isForAll = Object.values(others).every((one) => one === undefined)
  const counters = isForAll
    ? `one counter for attempts at upstream ${upstream}`
    : countersOf(selectors)
  return `limit ${name}, ${counters}: ${measuresOf(limit).join('; ')}`
}

function countersOf({ each, tenant, tenants, tag, ...others }: FurtherLimitSection['for']): string {
  const named = tenants ?? (tenant === undefined || tenant === EACH_TENANT ? [] : [tenant])
  const parts = [
    ...(named.length > 0 ? [`of tenant ${named.join(' or ')}`] : []),
    ...Object.entries(others).flatMap(([kind, value]) =>
      value === undefined ? [] : [`with ${kind} ${value}`],
    ),
    ...Object.entries(tag ?? {}).map(([label, value]) => `with tag ${label}=${value}`),
  ]
  const requests = parts.length === 0 ? 'all requests' : `requests ${parts.join(' ')}`
  return each === undefined
    ? `one counter for ${requests}`
    : `one counter for each ${each} of ${requests}`
}

function measuresOf(limit: FurtherLimitSection): string[] {
  const { requests_per_minute: rate, tokens_per_minute, concurrent_requests, budget } = limit
  const { input_tokens_per_minute: input, output_tokens_per_minute: output } = limit
  const burst = limit.burst ?? Math.max(1, Math.floor((rate ?? 0) / 4))
  return [
    ...(rate === undefined ? [] : [`${rate} requests a minute, ${burst} at once`]),
    ...(tokens_per_minute === undefined ? [] : [`${tokens_per_minute} tokens a minute`]),
    ...(input === undefined ? [] : [`${input} tokens of prompts a minute`]),
    ...(output === undefined ? [] : [`${output} tokens of answers a minute`]),
    ...(concurrent_requests === undefined ? [] : [`${concurrent_requests} simultaneous`]),
    ...(budget === undefined ? [] : [explainBudget(budget, limit.for.upstream !== undefined)]),
  ]
}

function explainBudget(
  budget: NonNullable<FurtherLimitSection['budget']>,
  isOfUpstream: boolean,
): string {
  const { usd, tokens, per, time_zone = 'UTC', on_exceeded, downgrade_route, alerts } = budget
  const cap = usd === undefined ? `${tokens} tokens` : `${usd} USD`
  const window = per === 'total' ? 'in total' : `a ${per} in ${time_zone}`
  const instead = on_exceeded === 'downgrade' ? `route ${downgrade_route}` : '402'
  const then = isOfUpstream ? 'it is passed over' : `then ${instead}`
  const at = alerts.map((threshold) => `${Math.round(threshold * 100)} %`)
  const alerted = at.length === 0 ? '' : `, alerts at ${at.join(', ')}`
  return `${cap} ${window}${explainRaise(budget)}, ${then}${alerted}`
}

function explainRaise({ raise }: NonNullable<FurtherLimitSection['budget']>): string {
  if (raise === undefined) return ''
  const { usd, tokens, until, by } = raise
  const more = usd === undefined ? `${tokens} tokens` : `${usd} USD`
  return ` (raised by ${more} until ${until}${by === undefined ? '' : `, by ${by}`})`
}
