/** LiteLLM's proxy configuration: its models, routes and prices; `litellm-settings.ts` has the rest. */
import type { Draft, Fields } from '../draft.ts'
import type { Field } from '../field.ts'
import { addRate, putRequests } from '../limits.ts'
import { validName } from '../names.ts'
import { addRoute, type RouteEntry, type Spread } from '../routes.ts'
import { type Deployment, deploymentOf } from './model.ts'
import { putSettings } from './settings.ts'

export function readLitellm(root: Field, draft: Draft): void {
  const groups = new Map<string, Deployment[]>()
  for (const entry of root.at('model_list').items) {
    const name = entry.at('model_name').text
    if (name === undefined || (name !== '*' && validName(name) === undefined)) {
      entry.hasNoPlace('the entry has no model_name that gw can take')
      continue
    }
    const deployment = deploymentOf(entry, draft)
    if (deployment !== undefined) groups.set(name, [...(groups.get(name) ?? []), deployment])
  }
  const spread = spreadOf(root.at('router_settings', 'routing_strategy'), groups, draft)
  for (const [name, deployments] of groups) putGroup(draft, name, { deployments, spread })
  putSettings(root, draft)
}

interface ModelGroup {
  readonly deployments: readonly Deployment[]
  readonly spread: Spread
}

/** All entries of one `model_name`. */
function putGroup(draft: Draft, name: string, { deployments, spread }: ModelGroup): void {
  const members = deployments.map(({ entry, upstream }): RouteEntry => {
    const weight = entry.at('litellm_params', 'weight')
    return { upstream, weight: weight.exists ? weight : undefined }
  })
  const isPattern = name.endsWith('*')
  const [first] = deployments
  const base = isPattern ? String(first?.upstream.name) : name
  const route = addRoute(draft, base, members, spread)
  if (isPattern) draft.aliases[name] = route.name
  for (const { entry } of deployments) {
    const field = entry.at('model_name')
    if (isPattern) field.changed(`route ${String(route.name)}`, draft.aliases, name)
    else if (route.name === name) field.kept(route, 'name')
    else field.changed(`named ${String(route.name)}, with an alias`, route, 'name')
    const drop = entry.at('litellm_params', 'drop_params')
    if (drop.flag === true) {
      route.on_unsupported = 'drop'
      drop.changed('for the whole route', route, 'on_unsupported')
    } else if (drop.flag === false) drop.changed('as gw does', route, 'name')
  }
  putQuotas(draft, route, deployments)
}

/** LiteLLM tries another deployment if one has used its quota, so the route may use all of them. */
function putQuotas(draft: Draft, route: Fields, deployments: readonly Deployment[]): void {
  const limit = { rpm: quotasOf(deployments, 'rpm'), tpm: quotasOf(deployments, 'tpm') }
  const sums = Object.entries(limit).flatMap(([name, fields]) => {
    const numbers = fields.map((field) => field.number ?? 0)
    if (fields.length === deployments.length && numbers.every((one) => one >= 1))
      return [{ name, fields, sum: numbers.reduce((sum, one) => sum + one, 0) }]
    for (const field of fields)
      field.hasNoPlace('another deployment of the route has no such limit')
    return []
  })
  if (sums.length === 0) return
  const entry = addRate(draft, `${String(route.name)}-quota`, { route: route.name })
  for (const { name, fields, sum } of sums) {
    const note = fields.length === 1 ? 'a limit of the route' : 'the sum, as a limit of the route'
    if (name === 'rpm') for (const field of fields) putRequests(field, entry, sum, note)
    else {
      entry.tokens_per_minute = Math.min(1_000_000_000, sum)
      for (const field of fields) field.changed(note, entry, 'tokens_per_minute')
    }
  }
}

function quotasOf(deployments: readonly Deployment[], name: string): Field[] {
  return deployments.flatMap(({ entry }) =>
    [entry.at('litellm_params', name), entry.at(name)].filter(({ exists }) => exists).slice(0, 1),
  )
}

const SPREADS: Readonly<Record<string, Spread>> = {
  'least-busy': 'least_queue',
  'latency-based-routing': 'fastest',
  'cost-based-routing': 'cheapest',
}

function spreadOf(
  field: Field,
  groups: ReadonlyMap<string, readonly Deployment[]>,
  { pricing }: Draft,
): Spread {
  const { text } = field
  if (text === undefined || groups.size === 0) return 'round_robin'
  const spread = Object.hasOwn(SPREADS, text) ? SPREADS[text] : undefined
  const priced = new Set(pricing.map(({ model }) => model))
  const isPriced = [...groups.values()].every(
    (group) => group.length === 1 || group.some(({ upstream }) => priced.has(upstream.model)),
  )
  if (spread === 'cheapest' && !isPriced)
    field.hasNoPlace('no price for a route: run gw pricing import, then set strategy: cheapest')
  else if (spread !== undefined) {
    field.changed(`strategy ${spread} of routes with several upstreams`)
    return spread
  } else if (text === 'simple-shuffle')
    field.changed('round_robin, or weighted if entries have weights')
  else field.hasNoPlace('gw takes turns instead')
  return 'round_robin'
}
