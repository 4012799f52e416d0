/** GET /v1/models: the routes a key may use, as OpenAI lists models. */

import { GatewayError } from '../../base/errors.ts'
import { MODEL_PREFIX, pathOf } from '../../base/path-spelling.ts'
import { shownName } from '../../base/shown-text.ts'
import type { Caller } from '../../call.ts'
import { mayUse } from '../../stages/match.ts'
import { describeLimits, identify } from '../../visit.ts'
import type { Api, Visit } from '../contract.ts'
import { openAiWire } from '../openai/wire.ts'

export const openAiModels: Api = {
  method: 'GET',
  path: '/v1/models',
  summary: "The key's routes and their aliases, as models.",
  wire: openAiWire,
  async run(visit) {
    const caller = identify(visit)
    await describeLimits(visit)
    requireScope(caller)
    const data = permitted(caller, visit).map(modelOf)
    visit.response.send(200, 'application/json', JSON.stringify({ object: 'list', data }))
  },
}

export const openAiModel: Api = {
  method: 'GET',
  path: `${MODEL_PREFIX}*`,
  summary: 'One route or alias, as a model; a slash in its name may be written %2F.',
  wire: openAiWire,
  async run(visit) {
    const caller = identify(visit)
    await describeLimits(visit)
    requireScope(caller)
    // Route names may hold slashes and encoded characters, so the rest of the path is the name.
    const asked = decodeURIComponent(pathOf(visit.call.incoming.url).slice(MODEL_PREFIX.length))
    if (!permitted(caller, visit).includes(asked)) {
      throw new GatewayError(
        'ERR_GW_ROUTE_NOT_FOUND',
        `This key has no route "${shownName(asked)}"; GET /v1/models lists those it has.`,
        { param: 'model' },
      )
    }
    visit.response.send(200, 'application/json', JSON.stringify(modelOf(asked)))
  },
}

function permitted(caller: Caller, { active }: Visit): string[] {
  return [...active.snapshot.models]
    .filter(([, route]) => mayUse(caller.key, route.name))
    .map(([name]) => name)
}

function requireScope(caller: Caller): void {
  if (caller.key.lists) return
  throw new GatewayError(
    'ERR_GW_AUTH_SCOPE_DENIED',
    `Key "${caller.key.record.id}" lacks the scope models:list.`,
  )
}

/** A route has no birthday; the SDKs want a number. */
function modelOf(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'gw' }
}
