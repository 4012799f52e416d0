/** A route as a group, if it has routes among its members, or fallbacks behind a strategy without a primary. */

import { nestedRoute } from '../../schema/constants.ts'
import type { RouteSection } from '../../schema/index.ts'
import type { Strategy } from '../../strategies/contract.ts'
import { STRATEGIES } from '../../strategies/index.ts'

export interface RouteGroup {
  readonly section: RouteSection
  readonly strategy: Strategy
  readonly members: readonly GroupMember[]
  /** Tried in their order, after the members. */
  readonly fallbacks: readonly GroupMember[]
}

export interface GroupMember {
  /** The name of the upstream; of a route `route NAME`. */
  readonly name: string
  /** undefined: the upstream's own. */
  readonly weight: number | undefined
  /** undefined: an upstream. */
  readonly group: RouteGroup | undefined
}

export function isGroup({ strategy, upstreams, fallback }: RouteSection): boolean {
  const isNested = (name: string) => nestedRoute(name) !== undefined
  if (upstreams.some(({ name }) => isNested(name)) || fallback.some(isNested)) return true
  return fallback.length > 0 && strategy !== 'primary_with_fallback'
}

/** Checks refuse circles of routes. */
export function groupOf(section: RouteSection, routes: readonly RouteSection[]): RouteGroup {
  const strategy = STRATEGIES[section.strategy]
  if (strategy === undefined) throw new Error(`there is no strategy ${section.strategy}`)
  const member = (name: string): GroupMember => {
    const nested = nestedRoute(name)
    const inner = nested && routes.find((route) => route.name === nested)
    const weight = section.upstreams.find((entry) => entry.name === name)?.weight
    return { name, weight, group: inner ? groupOf(inner, routes) : undefined }
  }
  const own = strategy.members(section).filter((name) => !section.fallback.includes(name))
  return {
    section,
    strategy,
    members: own.map(member),
    fallbacks: section.fallback.map(member),
  }
}
