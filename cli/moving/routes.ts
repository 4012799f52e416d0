/** Routes of upstreams and their fallbacks, in the forms that the configuration has. */
import { type Draft, type Fields, put } from './draft.ts'
import type { Field } from './field.ts'
import { validName } from './names.ts'

export interface RouteEntry {
  /** An upstream, or another route. */
  readonly upstream: Fields
  readonly isRoute?: boolean
  readonly weight?: Field | undefined
}

/** Strategies that choose among the members of a route. */
export type Spread = 'round_robin' | 'least_queue' | 'weighted' | 'fastest' | 'cheapest'

/** A route of these members; clients that send another spelling of its name reach it by an alias. */
export function addRoute(
  draft: Draft,
  wanted: string,
  members: readonly RouteEntry[],
  spread: Spread = 'round_robin',
): Fields {
  const name = draft.names.routes.free(wanted)
  const weighted = members.filter(({ weight }) => weight?.number !== undefined)
  const isWeighted = weighted.length > 0 && members.length > 1
  const strategy = members.length === 1 ? 'single' : isWeighted ? 'weighted' : spread
  const upstreams = members.map(({ upstream, isRoute, weight }) => {
    const named: Fields = isRoute ? { route: upstream.name } : { name: upstream.name }
    if (!isWeighted) {
      weight?.changed('left out: the only upstream of its route', upstream, 'name')
      return isRoute ? named : upstream.name
    }
    const member = named
    if (weight?.number === undefined) member.weight = 1
    else put(weight, member, 'weight', { value: weight.number })
    return member
  })
  const route: Fields = { name, strategy, upstreams }
  draft.routes.push(route)
  if (name !== wanted && wanted.length <= 253 && validName(wanted) !== wanted)
    draft.aliases[wanted] = name
  return route
}

export function routeNamed(draft: Draft, name: string): Fields | undefined {
  const target = draft.aliases[name] ?? name
  return draft.routes.find((route) => route.name === target)
}

/** The names of the upstreams that a route tries first. */
function membersOf({ primary, upstreams = [] }: Fields): string[] {
  const listed = (upstreams as readonly unknown[]).map((one) => String(Object(one).name ?? one))
  return primary === undefined ? listed : [String(primary)]
}

/** Routes that others have as a fallback: a route of theirs behind them would be a circle. */
const nested = new WeakSet<Fields>()

/** A group of upstreams stays a route, so that it goes on sharing requests. */
function entriesOf(other: Fields, isFree: boolean): readonly unknown[] {
  const members = membersOf(other)
  if (!isFree || members.length < 2 || other.name === undefined || other.fallback !== undefined)
    return members
  nested.add(other)
  return [{ route: other.name }]
}

/** Sends what fails on the route to the upstreams of other routes. Returns why, if it cannot. */
export function addFallback(route: Fields, others: readonly Fields[]): string | undefined {
  const own = membersOf(route)
  const isFree = !nested.has(route)
  const before = (route.fallback ?? []) as readonly unknown[]
  const more = others
    .flatMap((other) => entriesOf(other, isFree))
    .filter((one) => !own.includes(String(one)))
  const entries = new Map([...before, ...more].map((one) => [JSON.stringify(one), one]))
  const fallback = [...entries.values()].slice(0, 16)
  if (fallback.length === 0) return 'the fallback has the same upstreams'
  route.fallback = fallback
  if (own.length === 1) {
    route.strategy = 'primary_with_fallback'
    route.primary = own[0]
    delete route.upstreams
  }
  const retry = route.retry as Fields | undefined
  const attempts = Number(retry?.max_attempts ?? fallback.length + 1)
  if (retry !== undefined && attempts < fallback.length + 1)
    retry.max_attempts = Math.min(10, fallback.length + 1)
  return undefined
}

/** Attempts in all, from retries after the first attempt. */
export function putRetries(field: Field, routes: readonly Fields[]): void {
  const retries = field.number
  if (retries === undefined || retries < 0) {
    field.hasNoPlace('it is no number of retries')
    return
  }
  for (const route of routes) {
    const before = Object(route.retry) as Fields
    const fallbacks = (route.fallback as readonly unknown[] | undefined)?.length ?? 0
    const attempts = Math.max(Math.floor(retries) + 1, fallbacks + 1)
    route.retry = { ...before, max_attempts: Math.min(10, attempts) }
    field.changed('the first attempt counts too', route.retry as Fields, 'max_attempts')
  }
  if (routes.length === 0) field.hasNoPlace('there is no route')
}
