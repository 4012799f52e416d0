/** Reads, without trust, the facts that one gateway has of a span of time: counts, events, requests, states. */
import { z } from 'zod'
import type {
  FactEvent,
  FactRequest,
  Flow,
  StoreState,
  UpstreamState,
} from '../../dataplane/why/facts.ts'
import type { AskedGateway } from '../asking/asked-gateways.ts'

const REQUESTS_ASKED = 2000

const Counts = z.array(z.number())

const Series = z.looseObject({
  by: z.enum(['route', 'tenant', 'upstream']),
  name: z.string(),
  requests: Counts,
  client: Counts,
  limit: Counts,
  upstream: Counts,
  gateway: Counts,
})

const Event = z.looseObject({
  time: z.string(),
  event: z.string(),
  message: z.string(),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  replica: z.string().optional(),
})

const History = z.looseObject({
  kept_in: z.string(),
  missing: z.string().optional(),
  times: z.array(z.number()),
  series: z.array(Series),
  events: z.array(Event),
})

const Attempt = z.looseObject({
  upstream: z.string(),
  endpoint: z.string().optional(),
  outcome: z.string(),
  status: z.number().optional(),
  reason: z.string().optional(),
  started_ms: z.number(),
  ended_ms: z.number(),
})

const Request = z.looseObject({
  time: z.string(),
  request_id: z.string(),
  tenant: z.string().optional(),
  key: z.string().optional(),
  model: z.string().optional(),
  route: z.string().default('none'),
  status: z.number(),
  code: z.string().optional(),
  message: z.string().optional(),
  attempts: z.array(Attempt).default([]),
})

const Status = z.looseObject({
  time: z.string().optional(),
  store: z.looseObject({
    backend: z.string().default('memory'),
    state: z.string().optional(),
    reason: z.string().optional(),
  }),
  upstreams: z.array(
    z.looseObject({ name: z.string(), eligible: z.boolean(), why: z.string().optional() }),
  ),
})

const Models = z.looseObject({
  models: z.array(z.looseObject({ name: z.string(), kind: z.string(), route: z.string() })),
})

export interface PodFacts {
  readonly pod: string
  /** Whether the history is that of all pods. */
  readonly isShared: boolean
  readonly missing: string | undefined
  readonly flows: readonly Flow[]
  readonly events: readonly FactEvent[]
  readonly requests: readonly FactRequest[]
  readonly upstreams: readonly UpstreamState[]
  readonly store: StoreState
  readonly aliases: Readonly<Record<string, string>>
  readonly aheadMs: number | undefined
}

export interface Span {
  readonly since: number
  readonly until: number
}

export async function factsOfPod(gateway: AskedGateway, { since, until }: Span): Promise<PodFacts> {
  const { name: pod } = gateway
  const ask = async (path: string) => (await gateway.ask(path)).body
  const times = `since=${Math.round(since)}&until=${Math.round(until)}`
  const history = History.parse(await ask(`/history?${times}&step=1m&by=route,tenant`))
  const askedAt = Date.now()
  const status = Status.parse(await ask('/status'))
  const middle = (askedAt + Date.now()) / 2
  const { traces } = z
    .looseObject({ traces: z.array(Request) })
    .parse(await ask(`/traces?limit=${REQUESTS_ASKED}`))
  const { models } = Models.parse(await ask('/models'))
  const { store, upstreams, time } = status
  const aliases = models.filter(({ kind }) => kind !== 'route')
  return {
    pod,
    isShared: history.kept_in === 'redis' && history.missing === undefined,
    missing: history.missing,
    flows: history.series.map((one) => flowOf(one, history.times)),
    events: history.events.map((one) => eventOf(one, pod)),
    requests: traces
      .map((one) => requestOf(one, pod))
      .filter(({ at }) => at >= since && at <= until),
    upstreams: upstreams.map(({ name, eligible, why }) => ({ name, pod, eligible, why })),
    store: { pod, backend: store.backend, state: store.state, reason: store.reason },
    aliases: Object.fromEntries(aliases.map(({ name, route }) => [name, route])),
    aheadMs: time === undefined ? undefined : Date.parse(time) - middle,
  }
}

function flowOf({ by, name, ...counts }: z.output<typeof Series>, times: readonly number[]): Flow {
  const { requests, client, limit, upstream, gateway } = counts
  const minutes = times.map((at, index) => ({
    at,
    requests: requests[index] ?? 0,
    client: client[index] ?? 0,
    limit: limit[index] ?? 0,
    upstream: upstream[index] ?? 0,
    gateway: gateway[index] ?? 0,
  }))
  return { by, name, minutes }
}

function eventOf({ time, event, message, fields, replica }: z.output<typeof Event>, pod: string) {
  return { at: Date.parse(time), event, message, fields, pod: replica ?? pod }
}

function requestOf(one: z.output<typeof Request>, pod: string): FactRequest {
  const { time, request_id: id, tenant, key, model, route, status, code, message, attempts } = one
  return {
    ...{ at: Date.parse(time), id, pod, tenant, key, model, route, status, code, message },
    attempts: attempts.map(({ started_ms, ended_ms, ...rest }) => ({
      upstream: rest.upstream,
      endpoint: rest.endpoint,
      outcome: rest.outcome,
      status: rest.status,
      reason: rest.reason,
      startedMs: started_ms,
      endedMs: ended_ms,
    })),
  }
}
