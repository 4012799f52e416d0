/** The admin API's answers: what this process enforces, does and has decided. No secret is in any of them. */
import type { Activation } from './activation.ts'
import { explain } from './config/explain.ts'
import { loadConfiguration } from './config/load.ts'
import { renderProblem } from './config/problems.ts'
import { resolvedDocument } from './config/resolved.ts'
import { hostOf } from './config/source.ts'
import type { Gateway } from './gateway.ts'
import { statusOf } from './status.ts'

export interface AdminRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: string
}

export interface AdminAnswer {
  readonly status: number
  readonly body: unknown
}

export interface AdminRoute {
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly summary: string
  run(request: AdminRequest): AdminAnswer | Promise<AdminAnswer>
}

const TRACES_SHOWN = 100

export function adminRoutes(gateway: Gateway, activation: Activation): readonly AdminRoute[] {
  const route = (
    method: AdminRoute['method'],
    path: string,
    summary: string,
    run: AdminRoute['run'],
  ) => ({
    method,
    path,
    summary,
    run,
  })
  return [
    route('GET', '/status', 'What is enforced, and how the upstreams are.', () =>
      ok(statusOf(gateway, activation)),
    ),
    route('GET', '/config', 'The configuration, resolved, credentials masked.', () =>
      ok(resolvedDocument(activation.loaded)),
    ),
    route('PUT', '/config', 'Replaces the configuration until the next start.', ({ body }) =>
      replace(body, activation),
    ),
    route('GET', '/traces', 'The last decisions, newest first; ?limit=N.', ({ query }) =>
      ok({
        traces: gateway.traces.list(
          Math.max(1, Number(query.limit ?? TRACES_SHOWN) || TRACES_SHOWN),
        ),
      }),
    ),
    route('GET', '/traces/:request_id', 'One decision.', ({ params }) =>
      traceOf(gateway, params.request_id ?? ''),
    ),
    route(
      'GET',
      '/explain',
      'What will happen to a request, in words; ?model=NAME for one route.',
      ({ query }) => explained(gateway, query.model),
    ),
  ]
}

function replace(body: string, activation: Activation): AdminAnswer {
  const taken = activation.replace(() =>
    loadConfiguration(body, 'PUT /config', hostOf(process.env)),
  )
  const { loaded, last } = activation
  if (!taken)
    return {
      status: 422,
      body: { error: { message: 'The configuration was refused.', problems: last.errors } },
    }
  return ok({ result: 'success', at: last.at, problems: loaded.problems.map(renderProblem) })
}

function traceOf(gateway: Gateway, id: string): AdminAnswer {
  const trace = gateway.traces.get(id)
  if (trace !== undefined) return ok(trace)
  return missing(`There is no trace of request "${id}"; the last ${gateway.traces.size} are kept.`)
}

function explained(gateway: Gateway, model: string | undefined): AdminAnswer {
  const { configuration, models, section } = gateway.active.snapshot
  if (model === undefined) return ok({ text: explain(configuration) })
  const route = models.get(model)
  if (route === undefined) return missing(`There is no route or alias "${model}".`)
  return ok({
    model,
    route: route.name,
    text: explain({ ...configuration, gw: { ...section, routes: [route.section] } }),
  })
}

function ok(body: unknown): AdminAnswer {
  return { status: 200, body }
}

function missing(message: string): AdminAnswer {
  return { status: 404, body: { error: { message } } }
}
