/** The members of a route: upstreams, and other routes with theirs. */

import { nestedRoute } from '../../schema/constants.ts'
import type { RouteSection } from '../../schema/index.ts'

/** Names of upstreams, and of routes as `route NAME`; the fallbacks are last. */
export function membersOf({ primary, upstreams, semantic, fallback }: RouteSection): string[] {
  const named = [
    primary,
    ...upstreams.map(({ name }) => name),
    semantic?.easy,
    semantic?.hard,
    ...fallback,
  ]
  return [...new Set(named.filter((name) => name !== undefined))]
}

/** The names of all upstreams to which the route leads. A circle of routes ends where it begins. */
export function upstreamNamesOf(
  route: RouteSection,
  routes: readonly RouteSection[],
  seen: ReadonlySet<RouteSection> = new Set(),
): string[] {
  const names = membersOf(route).flatMap((member) => {
    const nested = nestedRoute(member)
    if (nested === undefined) return [member]
    const inner = routes.find(({ name }) => name === nested)
    if (inner === undefined || inner === route || seen.has(inner)) return []
    return upstreamNamesOf(inner, routes, new Set([...seen, route]))
  })
  return [...new Set(names)]
}

/** The routes among the members that exist. */
export function routesIn(route: RouteSection, routes: readonly RouteSection[]): RouteSection[] {
  const names = new Set(membersOf(route).flatMap((member) => nestedRoute(member) ?? []))
  return routes.filter(({ name }) => names.has(name))
}

/** Attempts of one request if the route sets no number: each upstream once if there are fallbacks, else one. */
export function attemptsOf(
  route: RouteSection,
  routes: readonly RouteSection[],
  seen: ReadonlySet<RouteSection> = new Set(),
): number {
  if (route.fallback.length > 0) return upstreamNamesOf(route, routes).length
  const inner = routesIn(route, routes).filter((one) => one !== route && !seen.has(one))
  const passed = new Set([...seen, route])
  return Math.max(1, ...inner.map((one) => attemptsOf(one, routes, passed)))
}
