/** The one decision over a tenant's rate, concurrency and budgets, and what follows from it for the request. */

import type { Clock } from '../base/clock.ts'
import { estimateOf, type Price } from '../budgets/price.ts'
import type { Call, Caller } from '../call.ts'
import type { Limits, Route } from '../config/snapshot.ts'
import type { Active, Gateway } from '../gateway.ts'
import type { ModelRequest } from '../inner-form.ts'
import type { Meter } from '../meter.ts'
import { NOTHING } from '../store/amounts.ts'
import type { AdmitResult, Amount, LeaseId, Rules } from '../store/contract.ts'
import { PromptTokens } from '../tokens/counter.ts'
import { type Quote, quoteOf, readAtOnce, windowOf } from '../tokens/quote.ts'
import type { Lane, Target } from '../upstream/target/targets.ts'
import { comparedModel, isCompared } from '../upstream/target/vectors.ts'
import { serves } from '../wires.ts'
import { limitHeaders } from './headers.ts'
import { Lease } from './leases.ts'
import { refusalError } from './refusal.ts'
import { downgradeRouteOf, isBudgeted } from './rules.ts'

/** A request that asks to be admitted. */
export interface Applicant {
  readonly call: Pick<Call, 'id' | 'receivedAt'>
  readonly request: ModelRequest
  readonly caller: Caller
  readonly route: Route
  readonly rules: Rules
}

export interface Limited extends Applicant {
  readonly quote: Quote
  readonly limits: Limits
  readonly meter: Meter
}

/** The part of it that sets the cost of the request. */
export type Wish = Pick<Limited, 'request' | 'caller' | 'route' | 'rules' | 'quote' | 'limits'>

/** The parts of the gateway that a decision reads and changes. */
export type Limiter = Pick<Gateway, 'store' | 'clock' | 'metrics' | 'refusals' | 'leases'>

export interface Decision {
  readonly route: Route
  readonly quote: Quote
  readonly lease: Lease
  readonly limitHeaders: Readonly<Record<string, string>>
}

/** The cost of the request on a route, at most. */
export interface Offer {
  readonly route: Route
  readonly quote: Quote
  readonly estimate: Amount
}

/** Throws the error of a refused client. */
export function decide(
  limited: Limited,
  lanes: Active['lanes'],
  gateway: Limiter,
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
      return concluded(made, offer, limited, gateway)
    }
    return result instanceof Promise ? result.then(conclude) : conclude(result)
  }
  return downgrade instanceof Promise ? downgrade.then(ask) : ask(downgrade)
}

/** Throws what the store has said of the tenant and would say again, without asking it. */
export function refuseKnown(
  tenant: string,
  rules: Rules,
  { refusals, clock }: Pick<Limiter, 'refusals' | 'clock'>,
): void {
  const known = refusals.of(tenant, rules, clock.now())
  if (known !== undefined) throw refusalError(known, rules, clock.wall())
}

/**
 * A large body that was refused once it had been read costs its tenant one request of its rate: else a client could send
 * nothing but such bodies and never meet a limit.
 */
export async function chargeRefused(
  lease: LeaseId,
  rules: Rules,
  limiter: Pick<Limiter, 'store' | 'refusals' | 'clock'>,
): Promise<void> {
  // A store that is away refuses what comes next.
  await chargeRequest(lease, rules, limiter).catch(() => undefined)
}

/** Rules are known by what they are, so a tenant's have one copy. */
const unbudgeted = new WeakMap<Rules, Rules>()

/** For work that costs nothing: a spent budget is no reason to refuse it. */
export function withoutBudget(rules: Rules): Rules {
  if (!isBudgeted(rules)) return rules
  const known = unbudgeted.get(rules)
  if (known !== undefined) return known
  const { budget: _, scoped: __, ...rest } = rules
  const made: Rules = { ...rest, budget: undefined }
  unbudgeted.set(rules, made)
  return made
}

/** Takes one request off the tenant's rate, for work that no upstream does. Throws where the tenant may not. */
export async function chargeRequest(
  { tenant, id }: LeaseId,
  rules: Rules,
  { store, refusals, clock }: Pick<Limiter, 'store' | 'refusals' | 'clock'>,
): Promise<void> {
  const result = await store.admit({ tenant, id, rules, estimate: NOTHING })
  if (result.outcome === 'refused') {
    refusals.learn(tenant, rules, result, clock.now())
    throw refusalError(result, rules, clock.wall())
  }
  const { budget, scoped } = rules
  await store.settle({ tenant, id, used: NOTHING, budget, ...(scoped && { scoped }) })
}

function concluded(
  result: AdmitResult,
  { route, quote, estimate }: Offer,
  { caller, call, rules, limits, request, meter }: Limited,
  gateway: Limiter,
): Decision {
  const { metrics, refusals, clock, leases } = gateway
  const { tenant } = caller
  if (result.outcome === 'refused') {
    refusals.learn(tenant, rules, result, clock.now())
    throw refusalError(result, rules, clock.wall())
  }
  metrics.admitted.at(tenant).value++
  if (result.outcome === 'downgraded') metrics.downgrades.at(tenant, route.name).value++
  const { budget, scoped } = rules
  const hold = { tenant, id: call.id, budget, scoped, key: caller.key.record.id }
  const lease = new Lease(hold, estimate, () => limits.chargeOf(meter.charges(request)))
  leases.add(lease)
  return { route, quote, lease, limitHeaders: limitHeaders(result.figures) }
}

export function offerOf(
  route: Route,
  quote: Quote,
  { request, limits }: Wish,
  lanes: Active['lanes'],
): Offer {
  const lane = lanes.get(route.name)
  const prompt = promptHeld(request, quote, lane)
  const price = dearest(lane, limits, prompt, quote.answer)
  return { route, quote, estimate: estimateOf(prompt, quote.answer, price, searchesOf(request)) }
}

/** Upstreams bill one search for each run of this many documents. */
const DOCUMENTS_PER_SEARCH = 100

function searchesOf(request: ModelRequest): number {
  return request.operation === 'rerank' ? Math.ceil(request.items / DOCUMENTS_PER_SEARCH) : 0
}

/** As counted; an estimate as the route's usage has shown it to be worth, else as many as its bytes may be. */
function promptHeld(
  request: ModelRequest,
  { exact, prompt }: Quote,
  lane: Lane | undefined,
): number {
  if (exact) return prompt
  return lane?.learnt?.held(request, prompt) ?? Math.max(prompt, request.promptTokensMax)
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

/** Only where a budget of the request names a route, and one of its upstreams may be tried now and has room. */
export function downgradeOffer(
  wish: Wish,
  lanes: Active['lanes'],
  clock: Pick<Clock, 'now'>,
): Offer | undefined | Promise<Offer | undefined> {
  const { request, quote, limits, caller, rules } = wish
  if (limits.downgrades.size === 0) return undefined
  const route = limits.downgrades.get(downgradeRouteOf(rules) ?? '')
  const lane = route === undefined ? undefined : lanes.get(route.name)
  if (route === undefined || lane === undefined) return undefined
  const yields = limits.rules.yields(caller.tenant)
  const tokens = quote.tokens ?? new PromptTokens(request)
  // Whether it fits must not be asked by refusing it: the budget may not be spent at all.
  const mayServe = (target: Target) =>
    target.standing(clock.now(), yields) === 'ready' &&
    readAtOnce(request, tokens.at(target)) + (request.maxTokens ?? 1) <= windowOf(target) &&
    serves(target.settings.provider, request.operation)
  const offer = () => {
    if (!lane.targets.some(mayServe)) return undefined
    // Vectors of another model would spoil an index that has those of the first; scores mean something else.
    if (!areSame(request, lane, lanes.get(wish.route.name))) return undefined
    const made = quoteOf(request, lane, route, tokens)
    return made instanceof Promise
      ? made.then((one) => offerOf(route, one, wish, lanes))
      : offerOf(route, made, wish, lanes)
  }
  const counting = tokens.count(lane.targets)
  return counting === undefined ? offer() : counting.then(offer)
}

/** Whether answers of both compare, where answers are compared. */
function areSame({ operation }: ModelRequest, one: Lane, other: Lane | undefined): boolean {
  if (!isCompared(operation)) return true
  const model = comparedModel(other?.targets ?? [], operation)
  return comparedModel(one.targets, operation) === model
}
