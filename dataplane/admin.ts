/** The admin API's answers: what this process enforces, does and has decided. No secret is in any of them. */
import { join } from 'node:path'
import type { Activation } from './activation.ts'
import { loadConfiguration } from './config/load.ts'
import { renderProblem } from './config/problems.ts'
import { resolvedDocument } from './config/resolved.ts'
import { hostOf } from './config/source.ts'
import { explanationOf } from './explanation.ts'
import type { Gateway } from './gateway.ts'
import { limitsOf } from './limits/tenants.ts'
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
  run(request: AdminRequest, process: Administered): AdminAnswer | Promise<AdminAnswer>
}

/** What the admin API looks at and may change. */
export interface Administered {
  readonly gateway: Gateway
  readonly activation: Activation
}

const TRACES_SHOWN = 100

export const ADMIN_ROUTES: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/status',
    summary: 'What is enforced, how the last reload went, and how each upstream is.',
    run: (_request, { gateway, activation }) => ok(statusOf(gateway, activation)),
  },
  {
    method: 'GET',
    path: '/config',
    summary:
      'The configuration in canonical form with all defaults; credentials as references or masked.',
    run: (_request, { activation }) => ok(resolvedDocument(activation.loaded)),
  },
  {
    method: 'PUT',
    path: '/config',
    summary:
      'Replaces the configuration (YAML or JSON) until the next start; 422 with the problems otherwise.',
    run: ({ body }, { activation }) => replace(body, activation),
  },
  {
    method: 'GET',
    path: '/limits/:tenant',
    summary: 'How a tenant stands: every limit with what is left, its window and its reset.',
    run: ({ params }, { gateway }) => standing(params.tenant ?? '', gateway),
  },
  {
    method: 'GET',
    path: '/traces',
    summary: 'The last decisions, newest first; `?limit=N`.',
    run: ({ query }, { gateway }) => ok({ traces: gateway.traces.list(limitOf(query.limit)) }),
  },
  {
    method: 'GET',
    path: '/traces/:request_id',
    summary: 'One decision: what was refused and why, each attempt with its timing.',
    run: ({ params }, { gateway }) => traceOf(gateway, params.request_id ?? ''),
  },
  {
    method: 'GET',
    path: '/explain',
    summary:
      'In words and figures, what will happen to a request; `?model=NAME` for one route or alias, with `&tenant=NAME` or `&key_hash=HEX` for whose.',
    run: ({ query }, { gateway }) => explained(gateway, query),
  },
]

function limitOf(asked: string | undefined): number {
  const limit = Number(asked ?? TRACES_SHOWN)
  return Number.isSafeInteger(limit) && limit > 0 ? limit : TRACES_SHOWN
}

function replace(body: string, activation: Activation): AdminAnswer {
  if (activation.isReadOnly) {
    const message =
      'In a pod the admin API is read-only; change the GatewayConfig with kubectl apply or gw apply.'
    return { status: 405, body: { error: { message } } }
  }
  const taken = activation.replace(() =>
    // Named as if it stood beside the file of the start, so that relative paths in it mean the same.
    loadConfiguration(body, join(activation.folder, 'PUT config'), hostOf(process.env)),
  )
  const { loaded, last } = activation
  if (!taken)
    return {
      status: 422,
      body: { error: { message: 'The configuration was refused.', problems: last.errors } },
    }
  return ok({ result: 'success', at: last.at, problems: loaded.problems.map(renderProblem) })
}

async function standing(tenant: string, gateway: Gateway): Promise<AdminAnswer> {
  return ok(await limitsOf(tenant, gateway))
}

function traceOf(gateway: Gateway, id: string): AdminAnswer {
  const trace = gateway.traces.get(id)
  if (trace !== undefined) return ok(trace)
  return missing(`There is no trace of request "${id}"; the last ${gateway.traces.size} are kept.`)
}

async function explained(gateway: Gateway, query: AdminRequest['query']): Promise<AdminAnswer> {
  const explanation = await explanationOf(query, gateway)
  return 'missing' in explanation ? missing(explanation.missing) : ok(explanation)
}

function ok(body: unknown): AdminAnswer {
  return { status: 200, body }
}

function missing(message: string): AdminAnswer {
  return { status: 404, body: { error: { message } } }
}
