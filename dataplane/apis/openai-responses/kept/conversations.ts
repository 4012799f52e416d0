/** Stored conversations at upstreams, by their tenants' ids: create, read, extend and delete. */
import { GatewayError } from '../../../base/errors.ts'
import { invalid } from '../../../body/request.ts'
import type { Caller } from '../../../call/call.ts'
import { mayUse } from '../../../call/key-entry.ts'
import type { Route } from '../../../config/snapshot.ts'
import { type Json, textOf } from '../../../json/values.ts'
import { isNoPath } from '../../../providers/native/no-path.ts'
import type { Api, Visit } from '../../../request/api.ts'
import { match, permit } from '../../../request/stages/match.ts'
import { identify } from '../../../request/visit.ts'
import { refusalOf } from '../../../upstream/attempt/refusal.ts'
import type { Target } from '../../../upstream/live/targets.ts'
import { checkItems } from '../request/items.ts'
import { responsesWire as wire } from '../wire.ts'
import { charge, withObject } from './governed.ts'
import { homesOf } from './homes.ts'
import { sealedId, secretOf } from './ids.ts'
import { askKeeper, keptApi, objectOf, type Resource } from './resource.ts'

const NAMES_SHOWN_MAX = 20
const ITEMS = '/items'

const CONVERSATIONS: Resource = {
  kind: 'conversation',
  top: '/conversations',
  below: { GET: /^(\/items(\/[\w-]+)?)?$/, DELETE: /^(\/items\/[\w-]+)?$/, POST: /^(\/items)?$/ },
  missing: 'this gateway keeps no such conversation.',
  bodyOf: (body, below) => {
    if (below === '') return { metadata: body.metadata }
    checkItems(body.items, 'items')
    return { items: body.items }
  },
  shown: ({ id }, { place, id: shown }) => (id === place.id ? { id: shown } : {}),
}

export const conversation: Api = {
  method: 'POST',
  path: '/v1/conversations',
  summary: 'Creates a conversation that the upstreams of a route store for the tenant.',
  wire,
  run: begin,
}

export const keptConversation = keptApi(
  CONVERSATIONS,
  'GET',
  'Such a conversation; `/items` below its id lists its items.',
)

export const keptConversationChanged = keptApi(
  CONVERSATIONS,
  'POST',
  'Changes the metadata of such a conversation; `/items` below its id adds items.',
)

export const keptConversationDeleted = keptApi(
  CONVERSATIONS,
  'DELETE',
  'Deletes such a conversation, or one of its items.',
)

async function begin(visit: Visit): Promise<void> {
  const caller = await identify(visit)
  permit(caller)
  const rules = await charge(caller, visit)
  await withObject({ caller, rules, visit }, async ({ model, items, metadata }) => {
    if (items != null) checkItems(items, ITEMS.slice(1))
    const { route, targets } = homeFor(textOf(model), caller, visit)
    await beginAt(route, targets, { items, metadata }, caller, visit)
  })
}

async function beginAt(
  route: Route,
  targets: readonly Target[],
  asked: Json,
  { tenant }: Caller,
  visit: Visit,
): Promise<void> {
  const { gateway, response, notes } = visit
  const now = gateway.clock.now()
  // A route without upstreams stores nothing.
  const target = targets.find(({ state }) => state.outBecause(now) === undefined) ?? targets[0]
  if (target === undefined) return
  const { name: upstream, settings } = target
  notes.keptAt(route.name, upstream)
  const question = {
    method: 'POST',
    path: CONVERSATIONS.top,
    body: JSON.stringify(asked),
    route,
  } as const
  const answer = await askKeeper(target, question, visit)
  if (answer.kind === 'failure') {
    const { failure } = answer
    throw isNoPath(failure)
      ? invalid(`Upstream "${upstream}" has no conversations.`, 'model')
      : refusalOf(failure, upstream)
  }
  const made = objectOf(answer.body, target)
  const place = { kind: 'conversation', route: route.name, upstream, id: String(made.id) } as const
  const id = sealedId(place, tenant, secretOf(settings))
  response.send(200, 'application/json', JSON.stringify({ ...made, id }))
}

interface Home {
  readonly route: Route
  readonly targets: readonly Target[]
}

/** The API has no member for a model. The gateway reads one, and requires it if the key may use several such routes. */
function homeFor(model: string | undefined, caller: Caller, { active, gateway }: Visit): Home {
  const { snapshot } = active
  if (model !== undefined) {
    const route = match(model, caller, snapshot, gateway.clock.wall())
    const targets = homesOf(route, active)
    if (targets !== undefined) return { route, targets }
    throw invalid(`Route "${model}" keeps no conversations.`, 'model')
  }
  const homes = [...snapshot.routes.values()].flatMap((route) => {
    const targets = mayUse(caller.key, route) ? homesOf(route, active) : undefined
    return targets === undefined ? [] : { route, targets }
  })
  const [home, second] = homes
  if (home === undefined) {
    const message =
      'POST /v1/conversations is not offered: no route that this key may use keeps conversations.'
    throw new GatewayError('ERR_GW_ROUTE_NOT_FOUND', message)
  }
  if (second === undefined) return home
  const names = homes.slice(0, NAMES_SHOWN_MAX).map(({ route }) => route.name)
  throw invalid(
    `Several routes keep conversations; name one in "model": ${names.join(', ')}.`,
    'model',
  )
}
