/** The events of one history, all of them drawn from its seed. */
import type { BudgetRule, Rules } from '../../dataplane/accounts/store.ts'
import { aRandom } from '../helpers/random.ts'
import { type Beside, limitedOf } from './beside-plan.ts'
import { CALM, type Draw, type Weather } from './network.ts'

export interface PlannedRequest {
  readonly at: number
  readonly tenant: string
  /** The number of the gateway. */
  readonly gateway: number
  /** Reserved tokens, and the used ones if no client disconnects. */
  readonly estimate: number
  readonly usage: number
  readonly durationMs: number
  /** The delay from the request until the client disconnects. */
  readonly leavesAfterMs: number | undefined
  /** It is charged to the rates alone, and ends with its answer. */
  readonly ratesOnly?: boolean
}

export type Mishap =
  | { readonly what: 'crash'; readonly at: number; readonly gateway: number }
  | { readonly what: 'cut'; readonly at: number; readonly gateway: number; readonly ms: number }
  /** The machine runs something else: all that the gateway does is late. */
  | { readonly what: 'pause'; readonly at: number; readonly gateway: number; readonly ms: number }
  | { readonly what: 'freeze'; readonly at: number; readonly ms: number }
  | { readonly what: 'flush'; readonly at: number }
  /** Another server with a copy of this age takes over. */
  | { readonly what: 'failover'; readonly at: number; readonly ms: number }
  /** The rules of all tenants switch to the other ones, on every gateway within a second. */
  | { readonly what: 'rules'; readonly at: number; readonly rules: Rules }

export interface Plan extends Beside {
  readonly seed: number
  readonly wall: number
  readonly tenants: readonly string[]
  /** The error of each gateway's clock in milliseconds. */
  readonly skews: readonly number[]
  /** The error of each gateway's steady clock at the end, in milliseconds. */
  readonly drifts: readonly number[]
  readonly rules: Rules
  readonly weather: Weather
  /** The configured behaviour without the store. */
  readonly failOpen: boolean
  readonly requests: readonly PlannedRequest[]
  readonly mishaps: readonly Mishap[]
}

/** The period in which requests arrive. */
export const ACTIVE_MS = 40_000

/** Longer than every request, lease and outage: anything still held then is never released. */
export const HISTORY_MS = 95_000

export const STARTS = ['2026-11-21T12:00:00Z', '2026-12-31T23:59:40Z', '2028-02-29T23:59:50Z'].map(
  Date.parse,
)
export const HOUR = 3_600_000

/** A plan has some kinds of faults, seldom all, because each kind must also be survived alone. */
export function planOf(seed: number): Plan {
  const draw = aRandom(seed)
  // The first numbers of neighbouring seeds are close to each other.
  for (let skipped = 0; skipped < 8; skipped++) draw(2)
  const has = (outOf: number) => draw(outOf) === 0
  const gateways = 1 + draw(4)
  const tenants = has(2) ? ['acme'] : ['acme', 'other']
  const isStampede = has(5)
  const rules = isStampede ? { ...ROOMY, budget: budgetOf(draw) } : rulesOf(draw)
  const requests = [
    ...Array.from({ length: 10 + draw(50) }, () => requestOf(draw, { gateways, tenants })),
    ...(has(4) ? hammering(draw, gateways) : []),
    ...(isStampede ? stampede(draw, gateways) : []),
    ...chargesOf(seed, { gateways, tenants, most: 40 }),
  ].toSorted((one, other) => one.at - other.at)
  const moment = () => draw(ACTIVE_MS)
  const mishaps: Mishap[] = []
  if (has(3)) mishaps.push({ what: 'crash', at: moment(), gateway: draw(gateways) })
  if (has(4)) {
    mishaps.push({ what: 'cut', at: moment(), gateway: draw(gateways), ms: 100 + draw(25_000) })
  }
  if (has(4)) mishaps.push({ what: 'freeze', at: moment(), ms: 20 + draw(20_000) })
  if (has(6)) mishaps.push({ what: 'flush', at: moment() })
  if (has(5)) mishaps.push({ what: 'rules', at: moment(), rules: rulesOf(draw) })
  const weather = has(3) ? CALM : weatherOf(draw)
  return {
    seed,
    wall: STARTS[draw(STARTS.length)] ?? 0,
    tenants,
    skews: Array.from({ length: gateways }, () => (has(2) ? draw(2 * HOUR) - HOUR : 0)),
    drifts: driftsOf(draw, gateways),
    rules,
    weather,
    failOpen: has(3),
    requests,
    mishaps,
    shared: has(2) ? budgetOf(draw) : undefined,
    ofKey: has(2) ? budgetOf(draw) : undefined,
    limited: limitedOf(seed, rulesOf),
  }
}

/**
 * Requests that are charged to the rates alone, in half of the histories. Some come while many others run: in groups, or
 * at any moment. The other requests do not depend on them.
 */
export function chargesOf(
  seed: number,
  { gateways, tenants, most }: Origins & { readonly most: number },
): PlannedRequest[] {
  const draw = aRandom(seed ^ 0xc4a76)
  for (let skipped = 0; skipped < 8; skipped++) draw(2)
  return Array.from({ length: draw(2) * draw(most) }, () => ({
    at: draw(2) === 0 ? draw(ACTIVE_MS) : 10_000 * draw(4) + draw(2000),
    tenant: tenants[draw(tenants.length)] ?? 'acme',
    gateway: draw(gateways),
    ...{ estimate: 0, usage: 0, durationMs: 0, leavesAfterMs: undefined, ratesOnly: true },
  }))
}

/** Only clients that disconnect: while they wait for the decision, or at any moment after it. */
export function leavingPlanOf(seed: number): Plan {
  const draw = aRandom(seed ^ 0xab047)
  const gateways = 3
  const requests = Array.from({ length: 500 }, (): PlannedRequest => {
    const durationMs = 1 + draw(20_000)
    const leavesAfterMs = draw(2) === 0 ? draw(60) : draw(durationMs)
    return {
      ...requestOf(draw, { gateways, tenants: ['acme'] }),
      ...{ durationMs: Math.max(durationMs, leavesAfterMs + 1), leavesAfterMs },
    }
  })
  return {
    seed,
    wall: STARTS[0] ?? 0,
    tenants: ['acme'],
    skews: Array.from({ length: gateways }, () => 0),
    drifts: driftsOf(draw, gateways),
    rules: { ...ROOMY, budget: { ...ROOMY_BUDGET } },
    weather: {
      requestsLost: draw(20),
      repliesLost: draw(20),
      slow: draw(20),
      pushesLost: draw(500),
    },
    failOpen: draw(2) === 0,
    shared: { ...ROOMY_BUDGET },
    ofKey: undefined,
    limited: undefined,
    requests: requests.toSorted((one, other) => one.at - other.at),
    mishaps: [],
  }
}

export function weatherOf(draw: Draw): Weather {
  return {
    requestsLost: draw(60),
    repliesLost: draw(60),
    slow: draw(2) * draw(100),
    pushesLost: draw(2) * draw(1001),
  }
}

export function driftsOf(draw: Draw, gateways: number): number[] {
  return Array.from({ length: gateways }, () => draw(2 * DRIFT_MAX_MS) - DRIFT_MAX_MS)
}

export const DRIFT_MAX_MS = 500
const ROOMY: Rules = {
  requestsPerMinute: 1_000_000,
  burst: 1_000_000,
  concurrentRequests: 1000,
  tokensPerMinute: undefined,
  budget: undefined,
}

const ROOMY_BUDGET: BudgetRule = {
  tokensPerDay: 1_000_000_000,
  nanosPerMonth: 1_000_000_000_000,
  onExceeded: 'reject',
  alertThresholds: [],
}

function rulesOf(draw: Draw): Rules {
  const of = <T>(...values: readonly T[]) => values[draw(values.length)] as T
  return {
    requestsPerMinute: of(60, 600, 1_000_000),
    burst: of(2, 10, 1_000_000),
    concurrentRequests: of(2, 5, 1000),
    tokensPerMinute: of(undefined, undefined, 2000),
    budget: of(undefined, budgetOf(draw), budgetOf(draw)),
  }
}

function budgetOf(draw: Draw): BudgetRule {
  return {
    tokensPerDay: draw(3) === 0 ? undefined : 200 + draw(2000),
    nanosPerMonth: draw(3) === 0 ? undefined : 200_000 + draw(2_000_000),
    onExceeded: 'reject',
    alertThresholds: [0.5, 1],
  }
}

/**
 * Short requests of one tenant, evenly spaced and faster than most rates, so that its bucket stays
 * full.
 */
function hammering(draw: Draw, gateways: number): PlannedRequest[] {
  const pauseMs = 50 + draw(600)
  const from = draw(ACTIVE_MS / 2)
  return Array.from({ length: 60 }, (_, index) => ({
    at: from + index * pauseMs + draw(pauseMs),
    tenant: 'acme',
    gateway: draw(gateways),
    estimate: 1,
    usage: 1,
    durationMs: draw(100),
    leavesAfterMs: undefined,
  }))
}

/**
 * Many concurrent requests that use all reserved tokens: a store that checks only settled amounts
 * would admit all of them.
 */
function stampede(draw: Draw, gateways: number): PlannedRequest[] {
  const from = draw(ACTIVE_MS)
  return Array.from({ length: 40 }, () => {
    const estimate = 50 + draw(250)
    return {
      at: from + draw(500),
      tenant: 'acme',
      gateway: draw(gateways),
      estimate,
      usage: estimate,
      durationMs: 1000 + draw(5000),
      leavesAfterMs: undefined,
    }
  })
}

interface Origins {
  readonly gateways: number
  readonly tenants: readonly string[]
}

function requestOf(draw: Draw, { gateways, tenants }: Origins): PlannedRequest {
  const estimate = 1 + draw(300)
  return {
    // Half of them come in groups, in which races happen.
    at: draw(2) === 0 ? draw(ACTIVE_MS) : 10_000 * draw(4) + draw(50),
    tenant: tenants[draw(tenants.length)] ?? 'acme',
    gateway: draw(gateways),
    estimate,
    usage: draw(estimate + 1),
    durationMs: draw(3) === 0 ? draw(25_000) : draw(2000),
    leavesAfterMs: draw(2) === 0 ? draw(draw(2) === 0 ? 20 : 10_000) : undefined,
  }
}
