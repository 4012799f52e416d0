/** GET /v1/models: the routes that a key may use, in one form for clients of OpenAI's and Anthropic's API. */

import { GatewayError } from '../../base/errors.ts'
import { MODEL_PREFIX, pathOf } from '../../base/path-spelling.ts'
import { shownName } from '../../base/shown-text.ts'
import type { Caller } from '../../call/call.ts'
import type { Route } from '../../config/snapshot.ts'
import { shownSunset } from '../../config/routes/sunsets.ts'
import type { Api, Visit } from '../../request/api.ts'
import { match, mayUse } from '../../request/stages/match.ts'
import { describeLimits, identify } from '../../request/visit.ts'
import { isBarred, windowOf } from '../../upstream/live/targets.ts'
import { openAiWire } from '../openai/wire.ts'
import { wireOfClient } from '../wire-of-client.ts'

export const openAiModels: Api = {
  method: 'GET',
  path: '/v1/models',
  summary: "The key's routes and their aliases, as models.",
  wire: openAiWire,
  wireOf: wireOfClient,
  async run(visit) {
    const caller = await identify(visit)
    await describeLimits(visit)
    requireScope(caller)
    const data = permitted(caller, visit).map(([name, route]) => modelOf(name, route, visit))
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
    const found = permitted(caller, visit).find(([name]) => name === asked)
    if (found === undefined) {
      refuseEnded(asked, caller, visit)
      throw new GatewayError(
        'ERR_GW_ROUTE_NOT_FOUND',
        `This key has no route "${shownName(asked)}"; GET /v1/models lists those it has.`,
        { param: 'model' },
      )
    }
    const model = modelOf(asked, found[1], visit)
    visit.response.send(200, 'application/json', JSON.stringify(model))
  },
}

/** Without the names that have ended and lead to no successor, and without routes that the tenant may not use. */
function permitted(caller: Caller, { active, gateway }: Visit): [string, Route][] {
  const { models, sunsets } = active.snapshot
  const { lanes } = active
  const now = gateway.clock.wall()
  return [...models].filter(([name, route]) => {
    if (!mayUse(caller.key, route.name) || isBarred(lanes.get(route.name))) return false
    const sunset = sunsets?.of(name, route.name)
    return sunset === undefined || sunset.redirects || now < sunset.untilMs
  })
}

/** Says when a name has ended, to a key that may use it. */
function refuseEnded(name: string, caller: Caller, { active, gateway }: Visit): void {
  const { snapshot } = active
  const route = snapshot.models.get(name)
  if (route === undefined || !mayUse(caller.key, route.name)) return
  match(name, caller, snapshot, gateway.clock.wall())
}

function requireScope(caller: Caller): void {
  if (caller.key.lists) return
  throw new GatewayError(
    'ERR_GW_AUTH_SCOPE_DENIED',
    `Key "${caller.key.record.id}" lacks the scope models:list.`,
  )
}

/** A route has no creation time, so the list shows the time of the active configuration. */
function modelOf(id: string, route: Route, { active, gateway }: Visit) {
  const created = Math.floor(gateway.metrics.reloadedAt.at().value)
  const window = windowOf(active.lanes.get(route.name))
  const sunset = active.snapshot.sunsets?.of(id, route.name)
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
