/** Rates of routes and tenants, from two readings of counters. */
import { sharesTogether, type TenantShare } from '../printing/tables/upstreams-text.ts'
import type { Activity, ActivityReading } from './reading.ts'

export interface Rates {
  readonly requests_per_second: number
  readonly errors_per_second: number
  readonly tokens_per_second: number
}

export interface RouteRates extends Rates {
  readonly route: string
  readonly in_flight: number
  /** First tokens between the readings count; absent if there were none. */
  readonly ttft_p95_seconds?: number
}

export interface TenantRates extends Rates {
  readonly tenant: string
}

export interface UpstreamShare extends TenantShare {
  readonly upstream: string
}

export interface Top {
  readonly gateways: number
  readonly asked: number
  readonly routes: readonly RouteRates[]
  readonly tenants: readonly TenantRates[]
  /** At upstreams with fairness. */
  readonly shares: readonly UpstreamShare[]
}

const QUANTILE = 0.95

/** The busiest first. A gateway without both readings, or restarted between them, adds no rate. */
export function ratesOf(before: ActivityReading, after: ActivityReading): Top {
  const routes = new Map<string, Sum>()
  const tenants = new Map<string, Sum>()
  let bounds: readonly number[] = []
  for (const [gateway, now] of after.gateways) {
    const then = before.gateways.get(gateway)
    for (const { name, in_flight } of now.routes) sumAt(routes, name).inFlight += in_flight
    if (then === undefined || then.at_ms >= now.at_ms) continue
    bounds = now.first_token_bounds
    addRoutes(routes, then, now)
    addTenants(tenants, then, now)
  }
  const routeRates = [...routes].map(([route, sum]) => {
    const p95 = quantile(QUANTILE, bounds, sum.firstTokens)
    const known = p95 === undefined ? {} : { ttft_p95_seconds: rounded(p95) }
    return { route, ...figures(sum), in_flight: sum.inFlight, ...known }
  })
  return {
    gateways: after.gateways.size,
    asked: after.asked,
    routes: busiestFirst(routeRates),
    tenants: busiestFirst([...tenants].map(([tenant, sum]) => ({ tenant, ...figures(sum) }))),
    shares: sharesOf(after),
  }
}

function sharesOf({ gateways }: ActivityReading): UpstreamShare[] {
  const all = [...gateways.values()].flatMap(({ shares }) => shares)
  return [...Map.groupBy(all, ({ upstream }) => upstream)].flatMap(([upstream, views]) =>
    sharesTogether([views]).map((one) => ({ upstream, ...one })),
  )
}

interface Sum {
  requests: number
  errors: number
  tokens: number
  inFlight: number
  firstTokens: number[]
}

function addRoutes(sums: Map<string, Sum>, then: Activity, now: Activity): void {
  const seconds = (now.at_ms - then.at_ms) / 1000
  const earlier = new Map(then.routes.map((route) => [route.name, route]))
  for (const route of now.routes) {
    const sum = sumAt(sums, route.name)
    const old = earlier.get(route.name)
    sum.requests += risen(old?.requests, route.requests) / seconds
    sum.errors += risen(old?.errors, route.errors) / seconds
    sum.tokens += risen(old?.tokens, route.tokens) / seconds
    for (const [index, count] of route.first_tokens.entries()) {
      const rise = risen(old?.first_tokens[index], count)
      sum.firstTokens[index] = (sum.firstTokens[index] ?? 0) + rise
    }
  }
}

/** The tenant's errors are failed requests and refusals. */
function addTenants(sums: Map<string, Sum>, then: Activity, now: Activity): void {
  const seconds = (now.at_ms - then.at_ms) / 1000
  const earlier = new Map(then.tenants.map((tenant) => [tenant.name, tenant]))
  for (const { name, admitted, refused } of now.tenants) {
    const sum = sumAt(sums, name)
    const old = earlier.get(name)
    const refusals = risen(old?.refused, refused)
    sum.requests += (risen(old?.admitted, admitted) + refusals) / seconds
    sum.errors += refusals / seconds
  }
  const nameOf = ({ hour, tenant }: Activity['usage'][number]) => `${hour} ${tenant}`
  const used = new Map(then.usage.map((row) => [nameOf(row), row]))
  for (const row of now.usage) {
    const sum = sumAt(sums, row.tenant)
    const old = used.get(nameOf(row))
    sum.errors += risen(old?.errors, row.errors) / seconds
    sum.tokens += risen(old?.tokens, row.tokens) / seconds
  }
}

/** A counter that fell has restarted. */
function risen(before = 0, after: number): number {
  return after >= before ? after - before : after
}

function sumAt(sums: Map<string, Sum>, name: string): Sum {
  const empty = { requests: 0, errors: 0, tokens: 0, inFlight: 0, firstTokens: [] }
  const sum = sums.get(name) ?? empty
  sums.set(name, sum)
  return sum
}

function figures({ requests, errors, tokens }: Sum): Rates {
  return {
    requests_per_second: rounded(requests),
    errors_per_second: rounded(errors),
    tokens_per_second: rounded(tokens),
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

/** Estimated as in Prometheus: evenly distributed within a bucket; the lower bound in the last one. */
export function quantile(
  share: number,
  bounds: readonly number[],
  counts: readonly number[],
): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return undefined
  const rank = share * total
  let below = 0
  for (const [index, bound] of bounds.entries()) {
    const count = counts[index] ?? 0
    if (count > 0 && below + count >= rank) {
      const lower = bounds[index - 1] ?? 0
      return lower + ((bound - lower) * (rank - below)) / count
    }
    below += count
  }
  return bounds.at(-1)
}

function busiestFirst<Row extends Rates>(rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => other.requests_per_second - one.requests_per_second)
}
