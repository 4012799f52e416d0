/** The one decision over a tenant's rate, concurrency and budgets, and its consequences for the request. */

import { NOTHING } from '../accounts/amounts.ts'
import type { Subject } from '../accounts/further/selectors.ts'
import type { AdmitResult, LeaseId, Rules } from '../accounts/store.ts'
import type { Call, Caller } from '../call/call.ts'
import type { Limits, Route } from '../config/snapshot.ts'
import type { Meter } from '../tokens/meter.ts'
import type { Lanes } from '../upstream/live/targets.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { limitHeaders } from './headers.ts'
import { Lease } from './leases.ts'
import { downgradeOffer, type Offer, offerOf } from './offer.ts'
import type { LimitParts } from './parts.ts'
import type { Quote } from './quote.ts'
import { countedEstimate, isNear, RECOUNTS_MAX, recounted } from './recount.ts'
import { refusalError } from './refusal.ts'

/** A request before its admission. */
export interface Applicant {
  readonly call: Pick<Call, 'id' | 'receivedAt'>
  readonly request: ModelRequest
  readonly caller: Caller
  readonly route: Route
  readonly rules: Rules
  /** Absent if nothing but the tenant limits the request. */
  readonly subject?: Subject | undefined
}

export interface Limited extends Applicant {
  readonly quote: Quote
  readonly limits: Limits
  readonly meter: Meter
}

/** The parts of the gateway that a decision reads and changes. */
export type Limiter = Pick<LimitParts, 'store' | 'clock' | 'metrics' | 'refusals' | 'leases'>

export interface Decision {
  readonly route: Route
  readonly quote: Quote
  readonly lease: Lease
  readonly limitHeaders: Readonly<Record<string, string>>
}

/** Throws the error of a refused client. */
export function decide(
  limited: Limited,
  lanes: Lanes,
  gateway: Limiter,
  recounts = RECOUNTS_MAX,
): Decision | Promise<Decision> {
  const { call, caller, rules } = limited
  const own = offerOf(limited.route, limited.quote, limited, lanes)
  const downgrade = downgradeOffer(limited, lanes, gateway.clock)
  const ask = (instead: Offer | undefined) => {
    const result = gateway.store.admit({
      tenant: caller.tenant,
      id: call.id,
      rules,
      estimate: own.estimate,
      downgradeEstimate: instead?.estimate,
    })
    const conclude = (made: AdmitResult) => {
      const offer = made.outcome === 'downgraded' ? (instead ?? own) : own
      const counting =
        made.outcome === 'refused' && recounts > 0
          ? recounted(made, limited, [own, instead], lanes, gateway)
          : undefined
      if (counting === undefined) return concluded(made, offer, limited, lanes, gateway)
      return counting.then((counted) =>
        decide({ ...limited, quote: counted }, lanes, gateway, recounts - 1),
      )
    }
    return result instanceof Promise ? result.then(conclude) : conclude(result)
  }
  return downgrade instanceof Promise ? downgrade.then(ask) : ask(downgrade)
}

/** Throws a known refusal that the store would repeat, without asking the store. `isFree`: a spent budget does not matter. */
export function refuseKnown(
  tenant: string,
  rules: Rules,
  { refusals, clock }: Pick<Limiter, 'refusals' | 'clock'>,
  isFree = false,
): void {
  const known = refusals.of(tenant, rules, clock.now())
  if (known === undefined || (isFree && known.by !== 'rpm')) return
  throw refusalError(known, rules, clock.wall())
}

/**
 * Charges one request of the tenant's rate for a large body that was refused after it was read. Otherwise a client
 * could send such bodies without any limit.
 */
export async function chargeRefused(
  lease: LeaseId,
  rules: Rules,
  limiter: Pick<Limiter, 'store' | 'refusals' | 'clock'>,
): Promise<void> {
  // An unreachable store refuses the next request anyway.
  await chargeRequest(lease, rules, limiter).catch(() => undefined)
}

/**
 * Charges one request of the tenant's rate, for work that is no run of a model: it takes no slot, and budgets do not matter.
 * Throws if the rate is used up.
 */
export async function chargeRequest(
  { tenant, id }: LeaseId,
  applied: Rules,
  { store, refusals, clock }: Pick<Limiter, 'store' | 'refusals' | 'clock'>,
): Promise<void> {
  const { base: rules = applied } = applied
  const result = await store.admit({ tenant, id, rules, estimate: NOTHING, ratesOnly: true })
  if (result.outcome !== 'refused') return
  refusals.learn(tenant, rules, result, clock.now())
  throw refusalError(result, rules, clock.wall())
}

function concluded(
  result: AdmitResult,
  offer: Offer,
  limited: Limited,
  lanes: Lanes,
  gateway: Limiter,
): Decision {
  const { caller, call, rules, limits, request, meter } = limited
  const { metrics, refusals, clock, leases, store } = gateway
  const { route, quote, estimate } = offer
  const { tenant } = caller
  if (result.outcome === 'refused') {
    // A limit may depend on the body, and the next body may be another.
    const { scope, by } = result
    if (scope?.kind === 'limit') metrics.limitRefused.at(scope.name, by).value++
    else refusals.learn(tenant, rules.base ?? rules, result, clock.now())
    throw refusalError(result, rules, clock.wall())
  }
  metrics.admitted.at(tenant).value++
  if (result.outcome === 'downgraded') metrics.downgrades.at(tenant, route.name).value++
  const { budget, scoped } = rules
  const hold = { tenant, id: call.id, budget, scoped, key: caller.key.record.id }
  const { tokens } = quote
  const countedBy = (upstream: string) => {
    const target = laneOf(route, lanes).targets.find(({ name }) => name === upstream)
    return target && tokens?.exactAt(target)
  }
  if (tokens !== undefined) meter.counted = countedBy
  const lease = new Lease(hold, estimate, () => limits.chargeOf(meter.charges(request)))
  const count = () => countedEstimate(offer, limited, lanes)
  if (quote.countedBy === 'upper bound') lease.count = count
  leases.add(lease)
  if (lease.count !== undefined && store.isShared && isNear(result.figures))
    void leases.recount(tenant, rules)
  return { route, quote, lease, limitHeaders: limitHeaders(result.figures) }
}
