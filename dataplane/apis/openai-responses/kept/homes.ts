/** Which routes keep responses: each of their upstreams does so itself, and every byte passes. */

import type { Route } from '../../../config/snapshot.ts'
import type { Visit } from '../../../request/api.ts'
import { type Pair, pairOf } from '../../../translation/pair.ts'
import { isLacking } from '../../../upstream/answer/lacking-wires.ts'
import type { Target } from '../../../upstream/live/targets.ts'
import { openAiResponsesDialect } from '../dialect.ts'
import { type Kept, type ObjectPlace, openedId, secretOf } from './ids.ts'

type Asking = NonNullable<Pair['kept']>

/**
 * Its upstreams; undefined for a route that keeps nothing. Guardrails and passages are for the words of a request, and
 * those that an upstream keeps are not in it.
 */
export function homesOf(route: Route, { lanes }: Visit['active']): readonly Target[] | undefined {
  const targets = lanes.get(route.name)?.targets ?? []
  const { guardrails, retrieval } = route.section
  const mayPass = guardrails.length === 0 && retrieval.length === 0
  return mayPass && targets.length > 0 && targets.every(keptAt) ? targets : undefined
}

/** How the target is asked for what it keeps; undefined where it keeps nothing. */
export function keptAt({ settings, state }: Target): Asking | undefined {
  const { wire } = openAiResponsesDialect
  if (isLacking(state, wire)) return undefined
  return pairOf(openAiResponsesDialect, settings.provider, settings.native)?.kept
}

/** The place of what the tenant has there; undefined for every other id. */
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
