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

function single(field: Field, draft: Draft, wanted: string, name = wanted): Fields | undefined {
  const upstream = targetOf(field, draft, name)
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
  const route =
    mode.text === 'loadbalance'
      ? balanced(targets, draft, wanted)
      : ordered(targets.flatMap(inOrder), draft, wanted)
  if (route === undefined) return undefined
  mode.changed('the strategy of the route', route, 'strategy')
  if (mode.text === 'loadbalance') return route
  for (const one of targets) {
    one.at('weight').hasNoPlace('a fallback has no share')
    if (inOrder(one)[0] === one) continue
    one.at('strategy', 'mode').changed('in the order of the list', route, 'fallback')
  }
  return route
}

/** A group among the targets is a route that this one leads to. */
function balanced(targets: readonly Field[], draft: Draft, wanted: string): Fields | undefined {
  const members = targets.flatMap((target, index) => {
    const name = `${wanted}-${index + 1}`
    const isRoute = target.at('targets').exists
    const upstream = isRoute ? routeOf(target, draft, name) : targetOf(target, draft, name)
    const weight = target.at('weight')
    if (upstream === undefined) return []
    return [{ upstream, isRoute, weight: weight.exists ? weight : undefined }]
  })
  return members.length === 0 ? undefined : addRoute(draft, wanted, members)
}

/** The first target or group is the route, and each later one its fallback. */
function ordered(targets: readonly Field[], draft: Draft, wanted: string): Fields | undefined {
  let route: Fields | undefined
  const others: Fields[] = []
  for (const [index, target] of targets.entries()) {
    const name = route === undefined ? wanted : `${wanted}-${index + 1}`
    if (target.at('targets').exists || route === undefined) {
      const made = target.at('targets').exists
        ? routeOf(target, draft, name)
        : single(target, draft, wanted, `${wanted}-${index + 1}`)
      if (route !== undefined && made !== undefined) others.push(made)
      route ??= made
      continue
    }
    const upstream = targetOf(target, draft, name)
    if (upstream !== undefined) others.push({ upstreams: [upstream.name] })
  }
  if (route !== undefined && others.length > 0) addFallback(route, others)
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
