/** The body of GET /activity: counters of routes and tenants. Two reads and the time between them make rates. */
import type { Gateway } from '../gateway.ts'
import { BUCKETS } from '../telemetry/series.ts'

const HOUR_MS = 3_600_000

export function activityOf(gateway: Gateway) {
  return {
    at_ms: gateway.clock.now(),
    first_token_bounds: BUCKETS,
    routes: routesOf(gateway),
    tenants: tenantsOf(gateway),
    usage: usageOf(gateway),
  }
}

function routesOf({ metrics, active }: Gateway) {
  const empty = () => ({
    requests: 0,
    errors: 0,
    in_flight: 0,
    tokens: 0,
    first_tokens: BUCKETS.map(() => 0).concat(0),
  })
  const routes = new Sums(empty)
  // A route that has had no request yet is one of the list.
  for (const name of active.snapshot.routes.keys()) routes.at(name)
  for (const [{ route, status }, { value }] of metrics.requests.entries()) {
    const sum = routes.at(route)
    sum.requests += value
    if (Number(status) >= 400) sum.errors += value
  }
  for (const [{ route }, { value }] of metrics.inFlight.entries())
    routes.at(route).in_flight += value
  for (const [{ route }, { value }] of metrics.tokens.entries()) routes.at(route).tokens += value
  for (const [{ route }, { counts }] of metrics.firstToken.entries()) {
    const { first_tokens } = routes.at(route)
    for (const [index, count] of counts.entries()) {
      first_tokens[index] = (first_tokens[index] ?? 0) + count
    }
  }
  return routes.list()
}

function tenantsOf({ metrics }: Gateway) {
  const tenants = new Sums(() => ({ admitted: 0, refused: 0 }))
  for (const [{ tenant }, { value }] of metrics.admitted.entries())
    tenants.at(tenant).admitted += value
  for (const [{ tenant }, { value }] of metrics.rejected.entries())
    tenants.at(tenant).refused += value
  return tenants.list()
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

  /** Without a name: a request that belongs to no tenant. */
  list() {
    const named = [...this.#sums].filter(([name]) => name !== '')
    return named.map(([name, sum]) => ({ name, ...sum }))
  }
}
