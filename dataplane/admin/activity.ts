/** The body of GET /activity: counters of routes and tenants. Two reads and the time between them make rates. */
import type { Gateway } from '../gateway/gateway.ts'
import { BUCKETS } from '../telemetry/series.ts'

const HOUR_MS = 3_600_000

export function activityOf(gateway: Gateway) {
  return {
    at_ms: gateway.clock.now(),
    first_token_bounds: BUCKETS,
    routes: routesOf(gateway),
    upstreams: upstreamsOf(gateway),
    tenants: tenantsOf(gateway),
    usage: usageOf(gateway),
    shares: sharesOf(gateway),
  }
}

/** `errors` count all answers from 400 on; those of limits and of what clients sent are parts of them. */
function routesOf({ metrics, active }: Gateway) {
  const empty = () => ({
    requests: 0,
    errors: 0,
    refused: 0,
    client_errors: 0,
    in_flight: 0,
    tokens: 0,
    first_tokens: BUCKETS.map(() => 0).concat(0),
    overflow: {} as Record<string, number>,
  })
  const routes = new Sums(empty)
  // Includes routes that have had no request yet.
  for (const name of active.snapshot.routes.keys()) routes.at(name)
  for (const [{ route, upstream, status }, { value }] of metrics.requests.entries()) {
    const sum = routes.at(route)
    sum.requests += value
    if (Number(status) >= 400) sum.errors += value
    if (isLimit(upstream, status)) sum.refused += value
    else if (isOfClient(status)) sum.client_errors += value
  }
  for (const [{ route }, { value }] of metrics.inFlight.entries())
    routes.at(route).in_flight += value
  for (const [{ route, kind }, { value }] of metrics.tokens.entries())
    if (isWhole(kind)) routes.at(route).tokens += value
  for (const [{ route, reason = '' }, { value }] of metrics.overflow.entries())
    addTo(routes.at(route).overflow, reason, value)
  for (const [{ route }, { counts }] of metrics.firstToken.entries())
    addCounts(routes.at(route).first_tokens, counts)
  return routes.list()
}

/** The other kinds are parts of these. */
function isWhole(kind: string | undefined): boolean {
  return kind === 'prompt' || kind === 'completion'
}

/** Refused by a limit or a budget of the gateway, without an attempt. */
function isLimit(upstream: string | undefined, status: string | undefined): boolean {
  return upstream === 'none' && (status === '429' || status === '402')
}

/** Caused by what the client sent; an upstream answers 429 or cuts a stream by itself. */
function isOfClient(status: string | undefined): boolean {
  return Number(status) >= 400 && Number(status) < 499 && status !== '429'
}

/** `outcomes` count attempts; `errors` and `tokens` count requests that the upstream answered. */
function upstreamsOf({ metrics, active }: Gateway) {
  const upstreams = new Sums(() => ({
    attempts: 0,
    outcomes: {} as Record<string, number>,
    tokens: 0,
    first_tokens: BUCKETS.map(() => 0).concat(0),
  }))
  for (const name of active.snapshot.upstreams.keys()) upstreams.at(name)
  for (const [{ upstream, outcome = '' }, { value }] of metrics.attempts.entries()) {
    const sum = upstreams.at(upstream)
    sum.attempts += value
    addTo(sum.outcomes, outcome, value)
  }
  for (const [{ upstream, kind }, { value }] of metrics.tokens.entries())
    if (isWhole(kind)) upstreams.at(upstream).tokens += value
  for (const [{ upstream }, { counts }] of metrics.firstToken.entries())
    addCounts(upstreams.at(upstream).first_tokens, counts)
  return upstreams.list()
}

function addTo(sums: Record<string, number>, name: string, value: number): void {
  sums[name] = (sums[name] ?? 0) + value
}

function addCounts(sums: number[], counts: Iterable<number>): void {
  let index = 0
  for (const count of counts) {
    sums[index] = (sums[index] ?? 0) + count
    index++
  }
}

function tenantsOf({ metrics }: Gateway) {
  const tenants = new Sums(() => ({
    admitted: 0,
    refused: 0,
    reasons: {} as Record<string, number>,
  }))
  for (const [{ tenant }, { value }] of metrics.admitted.entries())
    tenants.at(tenant).admitted += value
  for (const [{ tenant, reason = '' }, { value }] of metrics.rejected.entries()) {
    const sum = tenants.at(tenant)
    sum.refused += value
    addTo(sum.reasons, reason, value)
  }
  return tenants.list()
}

/** The tenants at upstreams with fairness; at most twenty of each. */
function sharesOf({ active }: Gateway) {
  const targets = [...active.lanes.values()].flatMap((lane) => lane.targets)
  const named = new Map(targets.map(({ name, state }) => [name, state.fair]))
  return [...named].flatMap(([upstream, fair]) =>
    (fair?.list() ?? []).map((tenant) => ({ upstream, ...tenant })),
  )
}

/** This hour and the last alone: sums over all hours would fall whenever the oldest is forgotten. */
function usageOf({ usage, clock }: Gateway) {
  const now = clock.wall()
  const sums = new Map<string, { tenant: string; hour: string; errors: number; tokens: number }>()
  for (const row of usage.between(hourOf(now - HOUR_MS), hourOf(now))) {
    const { tenant, hour, errors, input_tokens, output_tokens } = row
    const name = `${hour} ${tenant}`
    const sum = sums.get(name) ?? { tenant, hour, errors: 0, tokens: 0 }
    sum.errors += errors
    sum.tokens += input_tokens + output_tokens
    sums.set(name, sum)
  }
  return [...sums.values()]
}

function hourOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 13)
}

class Sums<Sum extends object> {
  readonly #sums = new Map<string, Sum>()
  readonly #make: () => Sum

  constructor(make: () => Sum) {
    this.#make = make
  }

  at(name = ''): Sum {
    const sum = this.#sums.get(name) ?? this.#make()
    this.#sums.set(name, sum)
    return sum
  }

  /** Without a name: a request without a tenant. */
  list() {
    const named = [...this.#sums].filter(([name]) => name !== '')
    return named.map(([name, sum]) => ({ name, ...sum }))
  }
}
