/** Answers of the admin API for a gateway of several processes: those of the first one, joined with those of its workers. */
import type { Json } from '../../json/values.ts'
import { limitOf } from '../requests/answers.ts'
import {
  ADMIN_ROUTES,
  type Administered,
  type AdminRequest,
  type AdminResponse,
  type AdminRoute,
  type Others,
} from '../routes.ts'
import { added, addedShadow } from './joined.ts'

type Join = (
  own: AdminResponse,
  request: AdminRequest,
  ask: () => ReturnType<Others['ask']>,
  others: Others,
) => Promise<AdminResponse>

/** The subject of a worker's answers. */
export const ADMIN = 'admin'

export function nameOf({ method, path }: Pick<AdminRoute, 'method' | 'path'>): string {
  return `${method} ${path}`
}

export async function answerOf(
  route: AdminRoute,
  request: AdminRequest,
  administered: Administered,
): Promise<AdminResponse> {
  const own = await route.run(request, administered)
  const name = nameOf(route)
  const { others } = administered
  const join = JOINS[name]
  if (others === undefined || join === undefined) return own
  return await join(own, request, () => others.ask(name, request), others)
}

/** The answer of a worker, whose own listeners have no admin API. */
export async function answerAlone(
  { route, request }: { readonly route: string; readonly request: AdminRequest },
  administered: Administered,
): Promise<AdminResponse> {
  return await routeOf(route).run(request, administered)
}

/** The body of `GET /status`, `GET /activity`: without parameters. */
export async function bodyOf(route: string, administered: Administered): Promise<unknown> {
  const request = { params: {}, query: {}, body: '' }
  return (await answerOf(routeOf(route), request, administered)).body
}

function routeOf(name: string): AdminRoute {
  const route = ADMIN_ROUTES.find((one) => nameOf(one) === name)
  if (route === undefined) throw new Error(`The admin API has no ${name}.`)
  return route
}

/** The other routes answer what all processes have in common. */
const JOINS: Readonly<Record<string, Join>> = {
  'GET /status': async (own, _request, ask, others) => {
    const theirs = bodies<Json>(await ask())
    const status = own.body as Json
    const sum = (name: string) => summed([status, ...theirs.map(({ body }) => body)], name)
    const workers = others.list().map(({ number, ...life }) => {
      const body = theirs.find((one) => one.number === number)?.body
      return { number, ...life, ...(body && workerStatus(body)) }
    })
    const running = {
      requests_in_flight: sum('requests_in_flight'),
      streams_open: sum('streams_open'),
    }
    return { ...own, body: { ...status, ...running, workers } }
  },
  'GET /activity': async (own, _request, ask) => {
    const { at_ms, first_token_bounds, ...sums } = own.body as Json
    const all = bodies<Json>(await ask()).reduce<Json>((sum, { body }) => added(sum, body), sums)
    return { ...own, body: { ...all, at_ms, first_token_bounds } }
  },
  'GET /changes': (own, _request, ask) => newestOf('changes', own, ask, CHANGES_MAX),
  'GET /traces': (own, { query }, ask) => {
    return newestOf('traces', own, ask, limitOf(query.limit), query.running === 'true')
  },
  'GET /traces/:request_id': firstFound,
  'GET /context/:request_id': firstFound,
  'GET /shadows': async (own, _request, ask) => {
    type Shown = { readonly shadows: readonly Json[] }
    const theirs = bodies<Shown>(await ask())
    const shadows = (own.body as Shown).shadows.map((shadow) =>
      theirs
        .flatMap(({ body }) => body.shadows.filter(({ route }) => route === shadow.route))
        .reduce(addedShadow, shadow),
    )
    return { ...own, body: { shadows } }
  },
  'PUT /config': async (own, { query }, ask) => {
    if (own.status !== 200 || query.dry_run === 'true') return own
    return (await ask()).find(({ body }) => body.status !== 200)?.body ?? own
  },
}

const CHANGES_MAX = 50

function bodies<Body>(answers: Awaited<ReturnType<Others['ask']>>) {
  return answers.flatMap(({ number, body }) =>
    body.status === 200 ? [{ number, body: body.body as Body }] : [],
  )
}

/** The members that may differ between processes. */
function workerStatus({ config, requests_in_flight, upstreams }: Json) {
  const { hash } = config as Json
  const shown = (upstreams as readonly Json[]).map(
    ({ name, eligible, why, breaker, in_flight }) => ({ name, eligible, why, breaker, in_flight }),
  )
  return { hash, requests_in_flight, upstreams: shown }
}

function summed(all: readonly Json[], name: string): number {
  return all.reduce((sum, one) => sum + Number(one[name] ?? 0), 0)
}

interface Dated {
  readonly time: string
}

async function newestOf(
  list: 'changes' | 'traces',
  own: AdminResponse,
  ask: Parameters<Join>[2],
  limit: number,
  isOldestFirst = false,
): Promise<AdminResponse> {
  type Listed = Readonly<Record<typeof list, readonly Dated[]>>
  const theirs = bodies<Listed>(await ask())
  const all = [own.body as Listed, ...theirs.map(({ body }) => body)].flatMap((body) => body[list])
  const order = isOldestFirst ? 1 : -1
  all.sort((a, b) => order * (Date.parse(a.time) - Date.parse(b.time)))
  return { ...own, body: { [list]: all.slice(0, limit) } }
}

async function firstFound(
  own: AdminResponse,
  _request: AdminRequest,
  ask: Parameters<Join>[2],
): Promise<AdminResponse> {
  if (own.status === 200) return own
  const found = (await ask()).find(({ body }) => body.status === 200)
  return found?.body ?? own
}
