/** Finds a stored object by its tenant's id, for that tenant only, and requests it from its upstream. */
import { GatewayError } from '../../../base/errors.ts'
import { pathOf } from '../../../base/path-spelling.ts'
import { shownPath } from '../../../base/shown-text.ts'
import { invalid } from '../../../body/request.ts'
import type { Caller } from '../../../call/call.ts'
import { mayUse } from '../../../call/key-entry.ts'
import type { Route } from '../../../config/snapshot.ts'
import { isRecord, type Json, parsedBytes } from '../../../json/values.ts'
import { malformed } from '../../../providers/failures/classify.ts'
import type { Api, Visit } from '../../../request/api.ts'
import { totalOf } from '../../../request/stages/admit.ts'
import { permit } from '../../../request/stages/match.ts'
import { identify } from '../../../request/visit.ts'
import { askBeside, type SideAnswer } from '../../../upstream/answer/side-question.ts'
import { refusalOf } from '../../../upstream/attempt/refusal.ts'
import type { Target } from '../../../upstream/live/targets.ts'
import { responsesWire as wire } from '../wire.ts'
import { charge, withObject } from './governed.ts'
import { homesOf, keptAt, placeOf } from './homes.ts'
import type { Kept, ObjectPlace } from './ids.ts'

export interface Resource {
  readonly kind: Kept
  /** The path above its ids, after the common path of all APIs. */
  readonly top: string
  /** Paths below an id, by method. */
  readonly below: Readonly<Record<Api['method'], RegExp>>
  /** The end of the refusal of every other id. */
  readonly missing: string
  /** The members of a POST body to forward; absent: it has none. Throws ERR_GW_INVALID_REQUEST. */
  readonly bodyOf?: (body: Json, below: string) => Json
  /** The answer's members with other values for the client. */
  shown(answer: Json, found: Found): Json
}

export interface Found {
  /** The id that the client knows. */
  readonly id: string
  readonly tenant: string
  readonly place: ObjectPlace
  readonly route: Route
  readonly target: Target
  /** The path below the id. */
  readonly below: string
}

const VERSION = '/v1'
const PATH_SHOWN_MAX = 100
/** Query parameters to forward. */
const ASKED: ReadonlySet<string> = new Set(['after', 'include', 'include[]', 'limit', 'order'])
const NO_STREAM: ReadonlySet<string> = new Set(['stream', 'starting_after', 'include_obfuscation'])

/** A row of the table of APIs for these objects. */
export function keptApi(resource: Resource, method: Api['method'], summary: string): Api {
  const path = `${VERSION}${resource.top}/*`
  return { method, path, summary, wire, run: (visit) => passOn(resource, method, visit) }
}

async function passOn(resource: Resource, method: Api['method'], visit: Visit): Promise<void> {
  const caller = await knownCaller(visit)
  const found = caller && find(resource, method, caller, visit)
  if (caller === undefined || found === undefined) throw notThere(resource, method, visit)
  permit(caller)
  const rules = await charge(caller, visit)
  const { bodyOf } = resource
  if (method !== 'POST' || bodyOf === undefined)
    return await pass(resource, method, found, undefined, visit)
  await withObject({ caller, rules, visit }, (tree) =>
    pass(resource, method, found, JSON.stringify(bodyOf(tree, found.below)), visit),
  )
}

async function pass(
  resource: Resource,
  method: Api['method'],
  found: Found,
  body: string | undefined,
  visit: Visit,
): Promise<void> {
  const { call, response } = visit
  const { place, route, target, below } = found
  const query = queryOf(call.incoming.url)
  response.route = place.route
  response.upstream = place.upstream
  const path = `${resource.top}/${encodeURIComponent(place.id)}${below}`
  const answer = await askKeeper(target, { method, path, query, body, route }, visit)
  if (answer.kind === 'failure') {
    const { failure } = answer
    throw failure.status === 404
      ? notThere(resource, method, visit)
      : refusalOf(failure, target.name)
  }
  const read = objectOf(answer.body, target)
  const shown = { ...read, ...resource.shown(read, found) }
  response.send(200, 'application/json', JSON.stringify(shown))
}

interface Question {
  readonly method: Api['method']
  /** Appended to the common path of all APIs. */
  readonly path: string
  readonly query?: string
  readonly body: string | undefined
  readonly route: Route
}

/** Sends the request to the upstream that stores the object. */
export function askKeeper(
  target: Target,
  { method, path, query = '', body, route }: Question,
  { call, gateway: { clock }, response: { presence } }: Visit,
): Promise<SideAnswer> {
  const dueAt = totalOf({ stream: false }, route, call.receivedAt, clock.now())
  return askBeside(
    target,
    (settings) => {
      // A home stores objects.
      const kept = keptAt(target) as NonNullable<ReturnType<typeof keptAt>>
      const asked = kept(settings, path)
      const withBody = body !== undefined && { body }
      return { ...asked, method, path: withQuery(asked.path, query), ...withBody }
    },
    { clock, presence, dueAt },
  )
}

export function objectOf(body: Buffer, { name }: Target): Json {
  const answer = parsedBytes(body)
  if (!isRecord(answer)) throw refusalOf(malformed('It sent no JSON object.'), name)
  return answer
}

/** undefined for everything that is not the tenant's. The refusal does not show the reason. */
function find(
  { kind, top, below: paths }: Resource,
  method: Api['method'],
  { key, tenant }: Caller,
  { call, active }: Visit,
): Found | undefined {
  const rest = pathOf(call.incoming.url).slice(VERSION.length + top.length + 1)
  const [, id = '', below = ''] = /^([^/]+)(.*)$/.exec(rest) ?? []
  if (!paths[method].test(below)) return undefined
  const place = placeOf(kind, id, tenant, active)
  const route = place && active.snapshot.routes.get(place.route)
  if (place === undefined || route === undefined || !mayUse(key, route)) return undefined
  const target = homesOf(route, active)?.find(({ name }) => name === place.upstream)
  return target && { id, tenant, place, route, target, below }
}

/** undefined for a bad key, whose refusal shows only that nothing was found. */
async function knownCaller(visit: Visit): Promise<Caller | undefined> {
  try {
    return await identify(visit)
  } catch {
    return undefined
  }
}

function notThere({ missing }: Resource, method: string, { call }: Visit): GatewayError {
  const path = shownPath(call.incoming.url).slice(0, PATH_SHOWN_MAX)
  const message = `${method} ${path} is not there: ${missing}`
  return new GatewayError('ERR_GW_ROUTE_NOT_FOUND', message)
}

/** Throws ERR_GW_INVALID_REQUEST for parameters that would have no effect. */
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
