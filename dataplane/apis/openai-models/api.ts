/** GET /v1/models: the routes that a key may use, in one form for clients of OpenAI's and Anthropic's API. */

import { GatewayError } from '../../base/errors.ts'
import { MODEL_PREFIX, pathOf } from '../../base/path-spelling.ts'
import { shownName } from '../../base/shown-text.ts'
import type { Caller } from '../../call/call.ts'
import { mayUse } from '../../call/key-entry.ts'
import { isOpen } from '../../config/routes/named-models.ts'
import { shownSunset } from '../../config/routes/sunsets.ts'
import type { Route } from '../../config/snapshot.ts'
import type { Api, Visit } from '../../request/api.ts'
import { match } from '../../request/stages/match.ts'
import { describeLimits, identify } from '../../request/visit.ts'
import { isBarred, windowOf } from '../../upstream/live/targets.ts'
import { laneOf } from '../../upstream/named/lanes.ts'
import { openAiWire } from '../openai/wire.ts'
import { wireOfClient } from '../wire-of-client.ts'
import { listedModels } from './listed.ts'

export const openAiModels: Api = {
  method: 'GET',
  path: '/v1/models',
  summary: "The key's routes and their aliases, and the models that upstreams list, as models.",
  wire: openAiWire,
  wireOf: wireOfClient,
  async run(visit) {
    const caller = await identify(visit)
    await describeLimits(visit)
    requireScope(caller)
    const named = permitted(caller, visit).map(([name, route]) => modelOf(name, route, visit))
    const listed = await listedModels(caller, visit)
    const data = [
      ...named,
      ...listed.map(({ name, window }) => modelOf(name, undefined, visit, window)),
    ]
    const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
    const list = { object: 'list', data, has_more: false, ...ends }
    visit.response.send(200, 'application/json', JSON.stringify(list))
  },
}

export const openAiModel: Api = {
  method: 'GET',
  path: `${MODEL_PREFIX}*`,
  summary: 'One route or alias, as a model; a slash in its name may be written %2F.',
  wire: openAiWire,
  wireOf: wireOfClient,
  async run(visit) {
    const caller = await identify(visit)
    await describeLimits(visit)
    requireScope(caller)
    // Route names may contain slashes and encoded characters, so the rest of the path is the name.
    const asked = decodeURIComponent(pathOf(visit.call.incoming.url).slice(MODEL_PREFIX.length))
    const found = foundFor(asked, caller, visit)
    if (found === undefined) {
      throw new GatewayError(
        'ERR_GW_ROUTE_NOT_FOUND',
        `This key has no route "${shownName(asked)}"; GET /v1/models lists those it has.`,
        { param: 'model' },
      )
    }
    const model = modelOf(asked, found, visit)
    visit.response.send(200, 'application/json', JSON.stringify(model))
  },
}

/** Without the names that have ended and lead to no successor, and without routes that the tenant may not use. */
function permitted(caller: Caller, { active, gateway }: Visit): [string, Route][] {
  const { models, sunsets } = active.snapshot
  const { lanes } = active
  const now = gateway.clock.wall()
  const behind = new Set(models.prefixes.map(([, { name }]) => name))
  return [...models].filter(([name, route]) => {
    if (isBarred(lanes.get(route.name))) return false
    // A route behind a pattern is asked for by names of models, not by its own.
    if (isOpen(route) && name === route.name && behind.has(name)) return false
    if (!mayUse(caller.key, isOpen(route) ? { name: route.name, sent: name } : route)) return false
    const sunset = sunsets?.of(name, route.name)
    return sunset === undefined || sunset.redirects || now < sunset.untilMs
  })
}

/** Throws the refusal of a name that has ended, for a key that may use it. */
function foundFor(name: string, caller: Caller, { active, gateway }: Visit): Route | undefined {
  const { snapshot } = active
  const route = snapshot.models.get(name)
  if (route === undefined || !mayUse(caller.key, route)) return undefined
  match(name, caller, snapshot, gateway.clock.wall())
  return route
}

function requireScope(caller: Caller): void {
  if (caller.key.lists) return
  throw new GatewayError(
    'ERR_GW_AUTH_SCOPE_DENIED',
    `Key "${caller.key.record.id}" lacks the scope models:list.`,
  )
}

/** A route has no creation time, so the list shows the time of the active configuration. */
function modelOf(
  id: string,
  route: Route | undefined,
  { active, gateway }: Visit,
  listed?: number,
) {
  const created = Math.floor(gateway.metrics.reloadedAt.at().value)
  const window = route === undefined ? listed : windowOf(laneOf(route, active.lanes))
  const sunset = route && active.snapshot.sunsets?.of(id, route.name)
  return {
    id,
    object: 'model',
    created,
    owned_by: 'gw',
    type: 'model',
    display_name: id,
    created_at: `${new Date(created * 1000).toISOString().slice(0, -5)}Z`,
    ...(window !== undefined && {
      context_length: window,
      context_window: window,
      max_model_len: window,
      max_input_tokens: window,
    }),
    ...(sunset && { deprecated: shownSunset(sunset) }),
  }
}
