/**
 * Histories of a tenant with large counters and many requests, whose counters are divided into
 * slices.
 */
import type { BudgetRule, Rules } from '../../dataplane/accounts/store.ts'
import { aRandom } from '../helpers/random.ts'
import { limitedOf } from './beside-plan.ts'
import { CALM, type Draw } from './network.ts'
import {
  chargesOf,
  driftsOf,
  HOUR,
  type Mishap,
  type Plan,
  type PlannedRequest,
  STARTS,
  weatherOf,
} from './plan.ts'

/** A tenant with much traffic and large counters, which almost uses up one of them. */
export function busyPlanOf(seed: number): Plan {
  const draw = aRandom(seed ^ 0xb5e)
  for (let skipped = 0; skipped < 8; skipped++) draw(2)
  const has = (outOf: number) => draw(outOf) === 0
  const gateways = 1 + draw(4)
  const moment = () => 2000 + draw(BUSY_MS)
  const mishaps: Mishap[] = []
  if (has(4)) mishaps.push({ what: 'crash', at: moment(), gateway: draw(gateways) })
  if (has(5)) {
    mishaps.push({ what: 'cut', at: moment(), gateway: draw(gateways), ms: 100 + draw(25_000) })
  }
  if (has(5)) mishaps.push({ what: 'freeze', at: moment(), ms: 20 + draw(20_000) })
  if (has(6)) mishaps.push({ what: 'flush', at: moment() })
  if (has(6)) mishaps.push({ what: 'failover', at: moment(), ms: 1 + draw(1000) })
  mishaps.push(...pausesOf(seed, gateways))
  return {
    seed,
    wall: STARTS[draw(STARTS.length)] ?? 0,
    tenants: ['acme'],
    skews: Array.from({ length: gateways }, () => (has(2) ? draw(2 * HOUR) - HOUR : 0)),
    drifts: driftsOf(draw, gateways),
    rules: largeRulesOf(draw),
    weather: has(2) ? CALM : weatherOf(draw),
    failOpen: has(3),
    requests: [
      ...busyRequests(draw, gateways),
      ...chargesOf(seed, { gateways, tenants: ['acme'], most: 400 }),
    ].toSorted((one, other) => one.at - other.at),
    mishaps,
    shared: has(3) ? largeBudgetOf(draw) : undefined,
    ofKey: has(3) ? largeBudgetOf(draw) : undefined,
    limited: limitedOf(seed, largeRulesOf),
  }
}

/** The same without faults, on several gateways of which all but one are soon quiet. */
export function calmPlanOf(seed: number): Plan {
  const plan = busyPlanOf(seed)
  const gateways = Math.max(2, plan.skews.length)
  const requests = plan.requests.map((request, index) => ({
    ...request,
    gateway: request.at < QUIET_AFTER_MS ? index % gateways : 0,
  }))
  const skews = Array.from({ length: gateways }, () => 0)
  const rules = { ...plan.rules, tokensPerMinute: undefined }
  const calm = { weather: CALM, mishaps: [], wall: STARTS[0] ?? 0 }
  return { ...plan, ...calm, skews, drifts: skews, rules, requests }
}

/** In half of the histories; the rest of a history does not depend on them. */
function pausesOf(seed: number, gateways: number): Mishap[] {
  const draw = aRandom(seed ^ 0x9a05e)
  for (let skipped = 0; skipped < 8; skipped++) draw(2)
  return Array.from({ length: draw(2) * draw(8) }, () => ({
    what: 'pause',
    at: 2000 + draw(BUSY_MS),
    gateway: draw(gateways),
    ms: 50 + draw(750),
  }))
}

const QUIET_AFTER_MS = 3000

const BUSY_MS = 12_000

function largeRulesOf(draw: Draw): Rules {
  const of = <T>(...values: readonly T[]) => values[draw(values.length)] as T
  return {
    requestsPerMinute: of(600, 6000, 1_000_000),
    burst: of(250, 500, 1_000_000),
    concurrentRequests: of(25, 60, 1000),
    tokensPerMinute: of(undefined, undefined, 4000),
    budget: of(undefined, largeBudgetOf(draw), largeBudgetOf(draw)),
  }
}

function largeBudgetOf(draw: Draw): BudgetRule {
  return {
    tokensPerDay: draw(3) === 0 ? undefined : 1000 + draw(2000),
    nanosPerMonth: draw(3) === 0 ? undefined : 1_000_000 + draw(2_000_000),
    onExceeded: 'reject',
    alertThresholds: [0.5, 1],
  }
}

/** Small requests, in a stream that grows and shrinks. */
function busyRequests(draw: Draw, gateways: number): PlannedRequest[] {
  const favourite = draw(gateways)
  return Array.from({ length: 300 + draw(500) }, () => {
    const estimate = 1 + draw(6)
    return {
      at: draw(3) === 0 ? 1000 + draw(BUSY_MS) : 4000 * draw(4) + draw(1500),
      tenant: 'acme',
      gateway: draw(2) === 0 ? favourite : draw(gateways),
      estimate,
      usage: draw(estimate + 1),
      durationMs: draw(20) === 0 ? draw(25_000) : draw(draw(3) === 0 ? 3000 : 400),
      leavesAfterMs: draw(10) === 0 ? draw(100) : undefined,
    }
  }).toSorted((one, other) => one.at - other.at)
}
