/** Routes that store responses: each of their upstreams stores them, and every byte passes. */

import type { Route } from '../../../config/snapshot.ts'
import type { Visit } from '../../../request/api.ts'
import { type Pair, pairOf } from '../../../translation/pair.ts'
import { isLacking } from '../../../upstream/answer/lacking-wires.ts'
import type { Target } from '../../../upstream/live/targets.ts'
import { laneOf } from '../../../upstream/named/lanes.ts'
import { openAiResponsesDialect } from '../dialect.ts'
import { type Kept, type ObjectPlace, openedId, secretOf } from './ids.ts'

type Asking = NonNullable<Pair['kept']>

/**
 * The route's upstreams; undefined for a route that stores nothing. Guardrails and passages need the texts of a
 * request, and a stored conversation is not part of the request.
 */
export function homesOf(route: Route, { lanes }: Visit['active']): readonly Target[] | undefined {
  const targets = laneOf(route, lanes).targets
  const { guardrails, retrieval } = route.section
  const mayPass = guardrails.length === 0 && retrieval.length === 0
  return mayPass && targets.length > 0 && targets.every(keptAt) ? targets : undefined
}

/** How to request stored objects at the target; undefined if it stores nothing. */
export function keptAt({ settings, state }: Target): Asking | undefined {
  const { wire } = openAiResponsesDialect
  if (isLacking(state, wire)) return undefined
  return pairOf(openAiResponsesDialect, settings.provider, settings.native)?.kept
}

/** The location of the tenant's object; undefined for every other id. */
export function placeOf(
  kind: Kept,
  id: string,
  tenant: string,
  { snapshot }: Visit['active'],
): ObjectPlace | undefined {
  return openedId(kind, id, tenant, (name) => {
    const settings = snapshot.upstreams.get(name)
    return settings && secretOf(settings)
  })
}
