/** Upstreams that differ in their key alone, as one upstream with a list of keys. */
import { PROVIDER_FACTS } from '../../dataplane/providers/index.ts'
import type { UpstreamSection } from '../../dataplane/schema/index.ts'
import type { Draft, Fields } from './draft.ts'

const KEYS_MAX = 16
const QUEUE_MAX = 1_000_000
const TEXT =
  'The other gateway has an entry for each key. Requests take the keys in turn, and one that is refused or out of quota rests.'

/** Returns the upstream that has the keys, by each upstream that is gone and each member of a route that had a weight. */
export function mergeKeys(draft: Draft): ReadonlyMap<object, Fields> {
  const gone = new Map<object, Fields>()
  const alike = Map.groupBy(draft.upstreams.filter(hasKeyInTurn), (upstream) => {
    const { name, api_key: _, ...rest } = upstream
    return JSON.stringify([rest, usesOf(draft.routes, name)])
  })
  for (const group of alike.values()) {
    const [first, ...others] = group
    const keys = new Set(group.map(({ api_key }) => api_key))
    const isPossible = keys.size === group.length && group.length <= KEYS_MAX
    if (first === undefined || others.length === 0 || !isPossible) continue
    if (!draft.routes.some((route) => spreads(route, first.name))) continue
    for (const route of draft.routes) {
      for (const member of weighedIn(route, group)) gone.set(member, first)
      mergeIn(route, first, others)
    }
    setKeys(draft, first, [...keys])
    for (const other of others) gone.set(other, first)
  }
  const left = draft.upstreams.filter((upstream) => !gone.has(upstream))
  draft.upstreams.splice(0, draft.upstreams.length, ...left)
  return gone
}

/** Keys that requests carry unchanged; a list cannot have the others. */
function hasKeyInTurn(upstream: Fields): boolean {
  const { keyless = [], takesKeyDocument } =
    PROVIDER_FACTS[upstream.provider as UpstreamSection['provider']]
  const isFetched = takesKeyDocument && keyless.every((setting) => upstream[setting] !== undefined)
  return isFetched !== true && typeof upstream.api_key === 'string'
}

const membersOf = (list: unknown) => (Array.isArray(list) ? (list as readonly unknown[]) : [])
const nameOf = (member: unknown) => String(Object(member).name ?? member)

/** Where routes have it, with its weight: those that merge are used in the same way. */
function usesOf(routes: readonly Fields[], name: unknown): readonly unknown[] {
  return routes.flatMap((route, index) =>
    ['primary', 'upstreams', 'fallback'].flatMap((list) =>
      membersOf([route[list]].flat())
        .filter((member) => nameOf(member) === name)
        .map((member) => [index, list, Object(member).weight]),
    ),
  )
}

function spreads({ upstreams }: Fields, name: unknown): boolean {
  return membersOf(upstreams).some((member) => nameOf(member) === name)
}

/** The members of a route that have a weight each. */
function weighedIn({ upstreams }: Fields, group: readonly Fields[]): object[] {
  const names = group.map(({ name }) => name)
  return membersOf(upstreams).filter(
    (one): one is object => typeof one === 'object' && names.includes(nameOf(one)),
  )
}

function mergeIn(route: Fields, first: Fields, others: readonly Fields[]): void {
  const names = others.map(({ name }) => name)
  const left = (list: unknown) => membersOf(list).filter((one) => !names.includes(nameOf(one)))
  if (route.fallback !== undefined) route.fallback = left(route.fallback)
  if (!spreads(route, first.name)) return
  const members = left(route.upstreams)
  const [only] = members
  if (members.length > 1) {
    route.upstreams = shared(route, members, { name: first.name, count: names.length + 1 })
  } else if (route.fallback === undefined) {
    Object.assign(route, { strategy: 'single', upstreams: [nameOf(only)] })
  } else {
    delete route.upstreams
    Object.assign(route, { strategy: 'primary_with_fallback', primary: nameOf(only) })
  }
}

/** It keeps the share of all its keys. */
function shared(
  route: Fields,
  members: readonly unknown[],
  { name, count }: { readonly name: unknown; readonly count: number },
): readonly unknown[] {
  if (route.strategy !== 'weighted' && route.strategy !== 'round_robin') return members
  route.strategy = 'weighted'
  return members.map((member) => {
    const entry: Fields =
      Object(member).name === undefined ? { name: member, weight: 1 } : Object(member)
    if (entry.name === name) entry.weight = Number(entry.weight) * count
    return entry
  })
}

function setKeys(draft: Draft, upstream: Fields, keys: readonly unknown[]): void {
  const [key, ...further] = keys
  // In a resource each field has one type.
  if (Object.keys(draft.metadata).length === 0) upstream.api_key = keys
  else Object.assign(upstream, { api_key: key, further_api_keys: further })
  draft.remarks.push({ owner: upstream, member: 'api_key', text: TEXT })
  if (upstream.max_queue_depth !== undefined) {
    const sum = Number(upstream.max_queue_depth) * keys.length
    upstream.max_queue_depth = Math.min(QUEUE_MAX, sum)
  }
}
