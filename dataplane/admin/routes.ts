/** The admin API's answers: what this process enforces, runs and has decided. They contain no secret. */

import type { Activation } from '../gateway/activation.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { historyOf } from '../store/history/answer.ts'
import { usageOf } from '../usage/answer.ts'
import { activityOf } from './activity.ts'
import { OPERATIONS } from './asked-operations.ts'
import { modelsOf } from './models.ts'
import { explained, missing, ok, traceOf, traces } from './requests/answers.ts'
import { contextOf } from './requests/context.ts'
import { actOnRollout, shadowsOf } from './requests/rollouts.ts'
import { runningWith } from './requests/running.ts'
import { counters, standing, standings } from './standings.ts'
import { statusOf } from './status.ts'

export interface AdminRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: string
}

export interface AdminResponse {
  readonly status: number
  readonly body: unknown
}

export interface AdminRoute {
  readonly method: 'GET' | 'PUT' | 'POST'
  readonly path: string
  readonly summary: string
  run(request: AdminRequest, process: Administered): AdminResponse | Promise<AdminResponse>
}

/** Where the process listens, as URLs; a socket is `unix:PATH`. */
export interface Listening {
  readonly clients: string
  readonly metrics: string
  readonly admin: readonly string[]
}

/** The workers of the process that is asked. */
export interface Others {
  /** The answers of those that answer in time. */
  ask(
    route: string,
    request: AdminRequest,
  ): Promise<readonly { readonly number: number; readonly body: AdminResponse }[]>
  list(): readonly { readonly number: number; readonly state: string }[]
}

/** The parts of the process that the admin API shows and may change. */
export interface Administered {
  readonly gateway: Gateway
  readonly activation: Activation
  /** Where the process listens; undefined until it does. */
  readonly listening: () => Listening | undefined
  /** Absent in a gateway of one process, and in a worker. */
  readonly others?: Others | undefined
}

/** How one listener of the admin API lets callers in. */
export interface AdminAccess {
  /** A socket that only its owner may open; no browser reaches it. */
  readonly isSocket: boolean
  /** Required for everything but reading /status; absent: not required. */
  readonly token?: string | undefined
  /** Where the token is, for the refusal. */
  readonly tokenFile?: () => string | undefined
}

/** Modules for explanations, trials and replacements load with their first use: they need the schema, or are seldom called. */
export const ADMIN_ROUTES: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/status',
    summary: 'The enforced configuration, the last reload, and the state of each upstream.',
    run: async (_request, { gateway, activation, listening }) =>
      ok({ ...(await statusOf(gateway, activation)), listeners: listening() }),
  },
  {
    method: 'GET',
    path: '/config',
    summary:
      'The configuration in canonical form with all defaults; credentials as references or masked.',
    run: async (_request, { activation }) => {
      const { resolvedDocument } = await import('../config/shown/resolved.ts')
      return ok(resolvedDocument(activation.loaded))
    },
  },
  {
    method: 'PUT',
    path: '/config',
    summary:
      'Takes a configuration (YAML, JSON) until the next start; 422 with the problems. ' +
      '`?only=limits`: 409 if more than limits, budgets, prices and keys differ. ' +
      '`?dry_run=true`: only reports the differences.',
    run: async ({ body, query }, { activation }) => {
      const { replaceConfiguration } = await import('./replacement.ts')
      return await replaceConfiguration(body, query, activation)
    },
  },
  {
    method: 'GET',
    path: '/models',
    summary:
      'The names that clients may send: routes, aliases and patterns, with strategy, context window, and which ' +
      'upstreams are eligible now.',
    run: (_request, { gateway }) => ok({ models: modelsOf(gateway) }),
  },
  {
    method: 'GET',
    path: '/activity',
    summary:
      'Counters of routes and tenants: requests, errors, in flight, tokens, times to first token. Two reads make ' +
      'rates, over the difference of their `at_ms`. `shares`: who waits at upstreams with [fairness](limits.md#fair-shares).',
    run: (_request, { gateway }) => ok(activityOf(gateway)),
  },
  {
    method: 'GET',
    path: '/history',
    summary: 'Counts by minute or hour, and events; [its form](console.md#the-history).',
    run: ({ query }, { gateway }) => historyOf(query, gateway),
  },
  {
    method: 'GET',
    path: '/changes',
    summary:
      'The last changes, newest first: of breakers, health, the configuration, keys, stores, objectives and budgets.',
    run: (_request, { gateway }) => ok({ changes: gateway.changes.newestFirst() }),
  },
  {
    method: 'GET',
    path: '/limits',
    summary:
      'How tenants stand that a key, a rule or a budget names, as `/limits/:tenant` does; `?limit=N`, at most 200, and ' +
      '`?name=TEXT` for those with it in their names.',
    run: ({ query }, { gateway }) => standings(query, gateway),
  },
  {
    method: 'GET',
    path: '/limits/:tenant',
    summary:
      'How a tenant stands: every limit with what is left, its window and its reset; ' +
      '404 where no key, rule or budget names it.',
    run: ({ params }, { gateway }) => standing(params.tenant ?? '', gateway),
  },
  {
    method: 'GET',
    path: '/limit-counters',
    summary:
      'How counters of `limits[]` stand: `?limit=NAME`, `?tenant=NAME`, `?key=ID`, `?user=NAME`; those of end users only with ' +
      '`user`, those of tags never; at most 200. 404 where there is no such limit or key.',
    run: ({ query }, { gateway }) => counters(query, gateway),
  },
  {
    method: 'GET',
    path: '/usage',
    summary:
      'Tokens and cost: `?by=tenant,model` or any of `key`, `route`, `upstream`, `provider`, `tags`, `tag:NAME`, ' +
      '`day`, `hour`, each row with its `last` hour; `&hours=N`, or `&from=` and `&to=` with a month, day or hour; ' +
      '`&tz=ZONE` for days there; `&format=focus` has every column that rows of costs need, and prices. With a shared ' +
      'store of all replicas, else of this process; `kept_in` says which.',
    run: ({ query }, { gateway }) => usageOf(query, gateway),
  },
  {
    method: 'GET',
    path: '/traces',
    summary:
      'The last decisions, newest first; `?limit=N`. `?running=true`: those of requests that have not ended, the ' +
      'oldest first.',
    run: ({ query }, { gateway }) => ok({ traces: traces(query, gateway) }),
  },
  {
    method: 'GET',
    path: '/traces/:request_id',
    summary: 'One decision: what was refused and why, each attempt with its timing.',
    run: ({ params: { request_id = '' } }, { gateway }) => {
      const running = runningWith(request_id, gateway)
      return running === undefined ? traceOf(gateway, request_id) : ok(running)
    },
  },
  {
    method: 'GET',
    path: '/context/:request_id',
    summary:
      'The context of one request: its count, the room in the window, the passages that were kept and left out.',
    run: ({ params }, { gateway }) =>
      traceOf(gateway, params.request_id ?? '', (trace) => contextOf(trace, gateway)),
  },
  {
    method: 'GET',
    path: '/explain',
    summary:
      'What will happen to a request; `?model=NAME` for one route or alias, with the `verdict` on the next request; ' +
      '`&tenant=NAME` or `&key_hash=HEX` for whose, `&prompt_tokens=N`, `&max_tokens=N` for how large, ' +
      `\`&operation=NAME\` for the API: ${OPERATIONS.slice(0, -1).join(', ')} or ${OPERATIONS.at(-1)}.`,
    run: ({ query }, { gateway }) => explained(gateway, query),
  },
  {
    method: 'GET',
    path: '/rollouts',
    summary:
      'The rollouts of routes: phase, share, and how the new upstream compares with the others.',
    run: (_request, { gateway }) => ok({ rollouts: gateway.rollouts.list() }),
  },
  {
    method: 'POST',
    path: '/rollouts/:route',
    summary: '`?action=pause`, `resume`, `promote` or `abort`; answers with the new state.',
    run: ({ params, query }, { gateway }) => actOnRollout(params.route ?? '', query, gateway),
  },
  {
    method: 'GET',
    path: '/shadows',
    summary:
      'Routes with a shadow: what became of copies, and how their answers differ from those of clients.',
    run: (_request, { gateway }) => ok({ shadows: shadowsOf(gateway) }),
  },
  {
    method: 'GET',
    path: '/keys',
    summary:
      'Records of keys, never a key or its hash: `?prefix=TEXT`, `&id=ID`, `&tenant=NAME`, `&limit=N`.',
    run: async ({ query }, { gateway }) => {
      const { keysListed } = await import('./keys-listing.ts')
      return ok(keysListed(query, gateway))
    },
  },
  {
    method: 'POST',
    path: '/upstreams/test',
    summary:
      'Probes each upstream and asks it for a short answer, past breaker, limits and budgets; ' +
      '`?name=NAME` for one.',
    run: async ({ query }, { gateway }) => {
      const { testUpstreams } = await import('./trials/upstream-test.ts')
      const tests = await testUpstreams(query.name, gateway)
      if (tests === undefined) return missing(`There is no upstream "${query.name}".`)
      return ok({ upstreams: tests })
    },
  },
  {
    method: 'POST',
    path: '/tokens/verify',
    summary:
      "Compares the gateway's counts of prompts with those of an upstream, past limits and budgets: `?upstream=NAME`, " +
      '`&sample=N` prompts.',
    run: async ({ query }, { gateway }) => {
      const name = query.upstream ?? ''
      const { verifyTokens } = await import('./trials/token-verification.ts')
      const verified = await verifyTokens({ name, sample: query.sample }, gateway)
      return verified === undefined ? missing(`There is no upstream "${name}".`) : ok(verified)
    },
  },
  {
    method: 'POST',
    path: '/vector-stores/test',
    summary:
      'The passages that a vector store finds, `?store=NAME`, on the body `{"query": TEXT, "tenant": NAME}`.',
    run: async ({ query, body }, { gateway }) => {
      const name = query.store ?? ''
      const { testVectorStore } = await import('./trials/vector-store-test.ts')
      const found = await testVectorStore(name, body, gateway)
      return found === undefined ? missing(`There is no vector store "${name}".`) : ok(found)
    },
  },
  {
    method: 'POST',
    path: '/guardrails/test',
    summary:
      'The verdict of one guardrail, `?policy=NAME`, on the body `{"input": TEXT, "side": "input" | "output"}`.',
    run: async ({ query, body }, { gateway }) => {
      const name = query.policy ?? ''
      const { testGuardrail } = await import('./trials/guardrail-test.ts')
      const verdict = await testGuardrail(name, body, gateway)
      return verdict === undefined ? missing(`There is no guardrail "${name}".`) : ok(verdict)
    },
  },
  {
    method: 'POST',
    path: '/routes/test',
    summary:
      'Follows a short request on a route, past limits and budgets: `?route=NAME`, ' +
      '`&fail=server|rate_limited` as if the first upstream answered so.',
    run: async ({ query }, { gateway }) => {
      const { rehearse } = await import('./trials/rehearsal.ts')
      const outcome = await rehearse(query, gateway)
      return 'missing' in outcome ? missing(outcome.missing) : ok(outcome)
    },
  },
]
