/** Responses that upstreams keep, by the ids that their tenants know: read, deleted, cancelled. */
import { GatewayError } from '../../../base/errors.ts'
import { pathOf } from '../../../base/path-spelling.ts'
import { shownPath } from '../../../base/shown-text.ts'
import { invalid } from '../../../body/request.ts'
import type { Caller } from '../../../call.ts'
import { isRecord, parsed, textOf } from '../../../json/values.ts'
import { chargeRequest, refuseKnown, withoutBudget } from '../../../limits/decision.ts'
import { malformed } from '../../../providers/failures/classify.ts'
import { mayUse, permit } from '../../../stages/match.ts'
import { refusalOf } from '../../../upstream/attempt/refusal.ts'
import { askBeside } from '../../../upstream/connection/side-question.ts'
import type { Target } from '../../../upstream/target/targets.ts'
import { describeLimits, identify } from '../../../visit.ts'
import type { Api, Visit } from '../../contract.ts'
import { responsesWire as wire } from '../wire.ts'
import { homesOf, keptAt, placeOf } from './homes.ts'
import { type Place, sealedId, secretOf } from './ids.ts'

const TOP = '/v1/responses/'
const PATH_SHOWN_MAX = 100
/** Paths below an id, by method. */
const BELOW: Readonly<Record<Api['method'], readonly string[]>> = {
  GET: ['', '/input_items'],
  DELETE: [''],
  POST: ['/cancel'],
}
/** Queries that go along. */
const ASKED: ReadonlySet<string> = new Set(['after', 'include', 'include[]', 'limit', 'order'])
const NO_STREAM: ReadonlySet<string> = new Set(['stream', 'starting_after', 'include_obfuscation'])

export const keptResponse: Api = {
  method: 'GET',
  path: `${TOP}*`,
  summary:
    'A response that the upstreams of its route keep for the tenant; `/input_items` below its id lists its input.',
  wire,
  run: (visit) => passOn('GET', visit),
}

export const keptResponseCancelled: Api = {
  method: 'POST',
  path: `${TOP}*`,
  summary: '`/cancel` below the id of such a response that runs in the background ends it.',
  wire,
  run: (visit) => passOn('POST', visit),
}

export const keptResponseDeleted: Api = {
  method: 'DELETE',
  path: `${TOP}*`,
  summary: 'Deletes such a response.',
  wire,
  run: (visit) => passOn('DELETE', visit),
}

interface Found {
  /** The id that the client knows. */
  readonly id: string
  readonly tenant: string
  readonly place: Place
  readonly target: Target
  /** The path below the id. */
  readonly below: string
}

async function passOn(method: Api['method'], visit: Visit): Promise<void> {
  const { call, gateway, response } = visit
  const found = await find(method, visit)
  if (found === undefined) throw notThere(method, call.incoming.url)
  const query = queryOf(call.incoming.url)
  const { id, place, target, below } = found
  response.route = place.route
  response.upstream = place.upstream
  const path = `/${encodeURIComponent(place.id)}${below}`
  const answer = await askBeside(
    target,
    (settings) => {
      // A home keeps responses.
      const kept = keptAt(target) as NonNullable<ReturnType<typeof keptAt>>
      const asked = kept(settings, path)
      return { ...asked, method, path: withQuery(asked.path, query) }
    },
    { clock: gateway.clock, presence: response.presence },
  )
  if (answer.kind === 'failure') {
    const { failure } = answer
    throw failure.status === 404
      ? notThere(method, call.incoming.url)
      : refusalOf(failure, target.name)
  }
  response.send(200, 'application/json', shown(answer.body, id, found))
}

/** undefined for everything that is not a response of the tenant, with nothing to tell one reason from another. */
async function find(method: Api['method'], visit: Visit): Promise<Found | undefined> {
  const { call, active, gateway } = visit
  const caller = await knownCaller(visit)
  const [, id = '', below = ''] =
    /^([^/]+)(.*)$/.exec(pathOf(call.incoming.url).slice(TOP.length)) ?? []
  if (caller === undefined || !BELOW[method].includes(below)) return undefined
  const { key, tenant } = caller
  const place = placeOf(id, tenant, active)
  const route = place && active.snapshot.routes.get(place.route)
  if (place === undefined || route === undefined || !mayUse(key, route.name)) return undefined
  const target = homesOf(route, active)?.find(({ name }) => name === place.upstream)
  if (target === undefined) return undefined
  permit(caller)
  const rules = withoutBudget(active.snapshot.limits.rules.of(tenant))
  refuseKnown(tenant, rules, gateway)
  await chargeRequest({ tenant, id: call.id }, rules, gateway)
  await describeLimits(visit)
  return { id, tenant, place, target, below }
}

/** undefined for a bad key, which learns no more than that there is nothing. */
async function knownCaller(visit: Visit): Promise<Caller | undefined> {
  try {
    return await identify(visit)
  } catch {
    return undefined
  }
}

function notThere(method: string, url: string): GatewayError {
  const path = shownPath(url).slice(0, PATH_SHOWN_MAX)
  const message = `${method} ${path} is not there: this gateway does not store responses.`
  return new GatewayError('ERR_GW_ROUTE_NOT_FOUND', message)
}

/** Throws ERR_GW_INVALID_REQUEST for what would not have its effect. */
function queryOf(url: string): string {
  const query = new URLSearchParams(url.slice(pathOf(url).length))
  for (const [name, value] of query) {
    if (NO_STREAM.has(name) && value !== 'false')
      throw invalid(`Ask for the response without "${name}"; it comes whole.`, name)
    if (!ASKED.has(name)) query.delete(name)
  }
  return query.toString()
}

function withQuery(path: string, query: string): string {
  if (query === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/** The answer with the ids that the client knows. */
function shown(body: Buffer, id: string, { place, target, tenant }: Found): string {
  const answer = parsed(body.toString())
  if (!isRecord(answer)) throw refusalOf(malformed('It sent no JSON object.'), target.name)
  const previous = textOf(answer.previous_response_id)
  return JSON.stringify({
    ...answer,
    ...(answer.id === place.id && { id }),
    ...(previous !== undefined && {
      previous_response_id: sealedId({ ...place, id: previous }, tenant, secretOf(target.settings)),
    }),
  })
}
