/** The one decision over a tenant's rate, concurrency and budgets, and what follows from it for the request. */

import type { GatewayError } from '../base/errors.ts'
import { estimateOf, type Price } from '../budgets/price.ts'
import type { Caller, ChatRequest } from '../call.ts'
import type { Limits, Route } from '../config/snapshot.ts'
import type { Visit } from '../gateway.ts'
import type { Meter } from '../meter.ts'
import { NOTHING } from '../store/amounts.ts'
import type { AdmitResult, Amount, Rules } from '../store/contract.ts'
import { type Quote, quoteOf, windowOf } from '../tokens/quote.ts'
import type { Lane, Target } from '../upstream/target/targets.ts'
import { limitHeaders } from './headers.ts'
import { Lease } from './leases.ts'
import { type Refused, refusalError } from './refusal.ts'

export interface Limited {
  readonly request: ChatRequest
  readonly caller: Caller
  readonly route: Route
  readonly quote: Quote
  readonly rules: Rules
  readonly limits: Limits
  readonly meter: Meter
}

/** Of the visit only what decides: a forecast has no client. */
export type Situation = Pick<Visit, 'active' | 'gateway'>
export type Wish = Omit<Limited, 'meter' | 'rules'>

export interface Decision {
  readonly route: Route
  readonly quote: Quote
  readonly lease: Lease
}

/** What the request may cost on a route. */
export interface Offer {
  readonly route: Route
  readonly quote: Quote
  readonly estimate: Amount
}

/** Throws what the client is told when it is refused. */
export function decide(limited: Limited, visit: Visit): Decision | Promise<Decision> {
  const { caller, rules } = limited
  const own = offerOf(limited.route, limited.quote, limited, visit)
  const downgrade = downgradeOffer(limited, visit)
  const result = visit.gateway.store.admit({
    tenant: caller.tenant,
    id: visit.call.id,
    rules,
    estimate: own.estimate,
    downgradeEstimate: downgrade?.estimate,
  })
  const conclude = (made: AdmitResult) => {
    const offer = made.outcome === 'downgraded' ? (downgrade ?? own) : own
    return concluded(made, offer, limited, visit)
  }
  return result instanceof Promise ? result.then(conclude) : conclude(result)
}

/** Throws what the store has said of the tenant and would say again, without asking it. */
export function refuseKnown(caller: Caller, visit: Visit): void {
  const { gateway, active, response } = visit
  const rules = active.snapshot.limits.rules.of(caller.tenant)
  const known = gateway.refusals.of(caller.tenant, rules, gateway.clock.now())
  if (known === undefined) return
  response.limits = limitHeaders(known.figures)
  throw refusal(known, { caller, rules }, visit)
}

/**
 * A large body that was refused once it had been read costs its tenant one request of its rate: else somebody could send
 * nothing but such bodies and never meet a limit.
 */
export async function chargeRefused(
  caller: Caller,
  { gateway, active, call }: Visit,
): Promise<void> {
  const { store, refusals, clock } = gateway
  const { tenant } = caller
  const rules = active.snapshot.limits.rules.of(tenant)
  const { id } = call
  try {
    const result = await store.admit({ tenant, id, rules, estimate: NOTHING })
    if (result.outcome === 'refused') refusals.learn(tenant, rules, result, clock.now())
    else await store.settle({ tenant, id, used: NOTHING, budget: rules.budget })
  } catch {
    // A store that is away refuses what comes next.
  }
}

function refusal(
  refused: Refused,
  { caller, rules }: Pick<Limited, 'caller' | 'rules'>,
  { gateway }: Visit,
): GatewayError {
  const error = refusalError(refused, rules, gateway.clock.wall())
  if (error.status === 429) gateway.metrics.rejected.at(caller.tenant, refused.by).value++
  return error
}

function concluded(result: AdmitResult, offer: Offer, limited: Limited, visit: Visit): Decision {
  const { gateway, response, call } = visit
  const { caller, rules, limits, request, meter } = limited
  response.limits = limitHeaders(result.figures)
  const { metrics } = gateway
  if (result.outcome === 'refused') {
    gateway.refusals.learn(caller.tenant, rules, result, gateway.clock.now())
    throw refusal(result, limited, visit)
  }
  metrics.admitted.at(caller.tenant).value++
  if (result.outcome === 'downgraded')
    metrics.downgrades.at(caller.tenant, offer.route.name).value++
  const lease = new Lease(
    { tenant: caller.tenant, id: call.id, budget: rules.budget },
    offer.estimate,
    () => limits.chargeOf(meter.charges(request)),
  )
  gateway.leases.add(lease)
  const { route, quote } = offer
  // Never cut to what the budget leaves: the request that crosses the cap is served whole.
  if (quote.injected !== undefined) response.headers.push('x-gw-max-tokens', String(quote.injected))
  return { route, quote, lease }
}

export function offerOf(
  route: Route,
  quote: Quote,
  { request, limits }: Wish,
  { active }: Situation,
): Offer {
  const prompt = Math.max(quote.prompt, request.promptTokensMax)
  const price = dearest(active.lanes.get(route.name), limits, prompt, quote.answer)
  return { route, quote, estimate: estimateOf(prompt, quote.answer, price) }
}

/** Any upstream of the route may answer, so the hold is at the price of the dearest. */
function dearest(
  lane: Lane | undefined,
  limits: Limits,
  prompt: number,
  answer: number,
): Price | undefined {
  let most: Price | undefined
  for (const { settings } of lane?.targets ?? []) {
    const price = limits.prices.get(settings.model)
    if (price === undefined) continue
    if (
      most === undefined ||
      estimateOf(prompt, answer, price).nanos > estimateOf(prompt, answer, most).nanos
    ) {
      most = price
    }
  }
  return most
}

/** Only where the tenant's budget names a route, and one of its upstreams may be tried now and has room. */
export function downgradeOffer(limited: Wish, visit: Situation): Offer | undefined {
  const { request, quote, limits, caller } = limited
  const route = limits.downgrades.get(caller.tenant)
  const lane = route === undefined ? undefined : visit.active.lanes.get(route.name)
  if (route === undefined || lane === undefined) return undefined
  const now = visit.gateway.clock.now()
  // Whether it fits must not be asked by refusing it: the budget may not be spent at all.
  const needed = quote.prompt + (request.maxTokens ?? 1)
  const yields = limits.rules.yields(caller.tenant)
  const mayServe = (target: Target) =>
    target.standing(now, yields) === 'ready' && needed <= windowOf(target)
  if (!lane.targets.some(mayServe)) return undefined
  return offerOf(route, quoteOf(request, lane, route), limited, visit)
}
