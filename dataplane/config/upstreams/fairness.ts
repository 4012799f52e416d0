/** The fairness of each upstream: the one that is written there, or that of a route which leads to it. */

import { nestedRoute } from '../../schema/constants.ts'
import type { FairnessSection } from '../../schema/fairness.ts'
import type { Section, UpstreamSection } from '../../schema/index.ts'
import { STRATEGIES } from '../../strategies/index.ts'

/** A route with `fairness`, and the upstreams that have it from there. */
export interface FairRoute {
  readonly index: number
  readonly fairness: FairnessSection
  readonly upstreams: readonly string[]
}

export function fairRoutesOf({ routes, upstreams }: Pick<Section, 'routes' | 'upstreams'>) {
  const own = new Set(upstreams.filter((one) => one.fairness !== undefined).map(({ name }) => name))
  return routes.flatMap((route, index): FairRoute[] => {
    if (route.fairness === undefined) return []
    const members = [...(STRATEGIES[route.strategy]?.members(route) ?? []), ...route.fallback]
    const without = members.filter((name) => !own.has(name) && nestedRoute(name) === undefined)
    return [{ index, fairness: route.fairness, upstreams: [...new Set(without)] }]
  })
}

/** By the name of the upstream; those without fairness are absent. */
export function fairnessOf(
  section: Pick<Section, 'routes' | 'upstreams'>,
): ReadonlyMap<string, FairnessSection> {
  const found = new Map<string, FairnessSection>()
  for (const { fairness, upstreams } of fairRoutesOf(section))
    for (const name of upstreams) found.set(name, fairness)
  for (const { name, fairness } of section.upstreams)
    if (fairness !== undefined) found.set(name, fairness)
  return found
}

/** Requests that one endpoint of the upstream may run; undefined if neither limit is written. */
export function placesOf({
  max_queue_depth,
  max_connections,
}: Pick<UpstreamSection, 'max_queue_depth' | 'max_connections'>): number | undefined {
  if (max_queue_depth === undefined) return max_connections
  return Math.min(max_queue_depth, max_connections ?? max_queue_depth)
}
