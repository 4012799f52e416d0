/** Portkey's gateway configuration: nested targets with a strategy, or integrations of its open gateway. */
import type { Draft, Fields } from '../draft.ts'
import type { Field } from '../field.ts'
import { addRate, putRequests } from '../limits.ts'
import { addFallback, addRoute, putRetries } from '../routes.ts'
import { putSeconds } from '../upstream-parts.ts'
import { integrationOf, targetOf } from './target.ts'

/** The configuration names no model for clients, because a header of theirs names the configuration. */
const ROUTE = 'default'

export function readPortkey(root: Field, draft: Draft): void {
  for (const integration of root.at('integrations').items) putIntegration(integration, draft)
  if (!root.at('targets').exists && !root.at('provider').exists && !root.at('virtual_key').exists)
    return
  const route = routeOf(root, draft, ROUTE)
  if (route === undefined) return
  draft.aliases['*'] = route.name
  const text = 'Every name leads here: in the other gateway a header chose the configuration.'
  draft.remarks.push({ owner: draft.aliases, member: '*', text })
}

/** A target, or a group of targets, as a route; undefined if nothing of it has a place. */
function routeOf(field: Field, draft: Draft, wanted: string): Fields | undefined {
  const mode = field.at('strategy', 'mode')
  const made =
    mode.text === undefined || !field.at('targets').exists
      ? single(field, draft, wanted)
      : group(field, draft, { wanted, mode })
  if (made === undefined) return undefined
  const retry = field.at('retry')
  if (retry.at('attempts').exists) putRetries(retry.at('attempts'), [made])
  if (retry.at('use_retry_after_header').flag === true)
    retry.at('use_retry_after_header').changed('as gw does')
  retry.at('on_status_codes').hasNoPlace(STATUSES)
  field.at('strategy', 'on_status_codes').hasNoPlace(STATUSES)
  field.at('cache').hasNoPlace('gw keeps no answers; prompt caches of the providers are used')
  if (field.at('targets').exists && field.at('request_timeout').exists)
    putSeconds(field.at('request_timeout'), made, 'timeout_seconds', {
      factor: 0.001,
      note: 'in seconds',
    })
  return made
}

const STATUSES = 'gw repeats what may succeed elsewhere: 429, 5xx, timeouts, broken connections'

function single(field: Field, draft: Draft, wanted: string): Fields | undefined {
  const upstream = targetOf(field, draft, wanted)
  return upstream === undefined ? undefined : addRoute(draft, wanted, [{ upstream }])
}

interface Group {
  readonly wanted: string
  readonly mode: Field
}

function group(field: Field, draft: Draft, { wanted, mode }: Group): Fields | undefined {
  const targets = field.at('targets').items
  if (mode.text === 'conditional') {
    field.hasNoPlace('gw has no routes by condition')
    return undefined
  }
  const flat = targets.flatMap((target) => (mode.text === 'fallback' ? inOrder(target) : [target]))
  const found = flat.flatMap((target, index) => {
    if (target.at('targets').exists) {
      target.hasNoPlace('a group of targets within another one has no place')
      return []
    }
    const upstream = targetOf(target, draft, `${wanted}-${index + 1}`)
    return upstream === undefined ? [] : [{ target, upstream }]
  })
  const [first, ...rest] = found
  if (first === undefined) return undefined
  if (mode.text === 'loadbalance') {
    const members = found.map(({ target, upstream }) => {
      const weight = target.at('weight')
      return { upstream, weight: weight.exists ? weight : undefined }
    })
    const route = addRoute(draft, wanted, members)
    mode.changed('the strategy of the route', route, 'strategy')
    return route
  }
  const route = addRoute(draft, wanted, [first])
  const others = rest.map(({ upstream }) => ({ upstreams: [upstream.name] }))
  if (others.length > 0) addFallback(route, others)
  mode.changed('the strategy of the route', route, 'strategy')
  for (const one of targets) {
    one.at('weight').hasNoPlace('a fallback has no share')
    one.at('strategy', 'mode').changed('in the order of the list', route, 'fallback')
  }
  return route
}

/** A fallback within a fallback is one list. */
function inOrder(target: Field): Field[] {
  const isOrdered = ['fallback', 'single'].includes(target.at('strategy', 'mode').text ?? '')
  return isOrdered ? target.at('targets').items.flatMap(inOrder) : [target]
}

const UNITS: Readonly<Record<string, number>> = { rpm: 1, rph: 60, rpd: 1440 }

function putIntegration(integration: Field, draft: Draft): void {
  const routes = integrationOf(integration, draft)
  for (const limit of integration.at('rate_limits').items) {
    const { number: value = 0 } = limit.at('value')
    const minutes = UNITS[limit.at('unit').text ?? '']
    const [only] = routes
    if (minutes === undefined || value < 1 || only === undefined || routes.length > 1) {
      limit.hasNoPlace('a limit of several models, or of a unit that gw does not count')
      continue
    }
    const rate = Math.max(1, Math.floor(value / minutes))
    const entry = addRate(draft, `${String(only.name)}-quota`, { route: only.name })
    if (limit.at('type').text === 'tokens') {
      entry.tokens_per_minute = rate
      limit.at('value').changed('a minute', entry, 'tokens_per_minute')
    } else putRequests(limit.at('value'), entry, rate, 'a minute')
    for (const name of ['unit', 'type'])
      limit.at(name).changed('a limit of the route', entry, 'name')
  }
}
