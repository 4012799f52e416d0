/** The highest cost of a request on a route, which is its hold. */

import { estimateOf, type Price } from '../accounts/price.ts'
import { downgradeRouteOf } from '../accounts/rules.ts'
import type { Amount, Rules } from '../accounts/store.ts'
import type { Clock } from '../base/clock.ts'
import type { Caller } from '../call/call.ts'
import type { Limits, Route } from '../config/snapshot.ts'
import { PromptTokens } from '../tokens/counter.ts'
import { serves } from '../translation/pair.ts'
import type { Lane, Lanes, Target } from '../upstream/live/targets.ts'
import { comparedModel, isCompared } from '../upstream/live/vectors.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { limitFor, type Quote, quoteOf, readAtOnce, windowOf } from './quote.ts'

/** The facts that determine the cost of a request. */
export interface Wish {
  readonly request: ModelRequest
  readonly caller: Caller
  readonly route: Route
  readonly rules: Rules
  readonly quote: Quote
  readonly limits: Limits
}

export interface Offer {
  readonly route: Route
  readonly quote: Quote
  readonly estimate: Amount
}

export function offerOf(
  route: Route,
  quote: Quote,
  { request, limits }: Wish,
  lanes: Lanes,
): Offer {
  const lane = laneOf(route, lanes)
  const prompt = promptHeld(request, quote, lane)
  const price = dearest(lane, limits, prompt, quote.answer)
  return { route, quote, estimate: estimateOf(prompt, quote.answer, price, searchesOf(request)) }
}

/** Upstreams bill one search for each run of this many documents. */
const DOCUMENTS_PER_SEARCH = 100

export function searchesOf(request: ModelRequest): number {
  return request.operation === 'rerank' ? Math.ceil(request.items / DOCUMENTS_PER_SEARCH) : 0
}

/**
 * Counts and upper bounds stay as they are. An estimate is corrected by the route's past usage, or else replaced by the
 * most tokens that its bytes may be.
 */
function promptHeld(
  request: ModelRequest,
  { tokens, estimated }: Quote,
  lane: Lane | undefined,
): number {
  if (tokens === undefined) return request.promptTokensMax
  const counted = tokens.mostCounted(lane?.targets ?? [])
  if (estimated === undefined) return counted
  const held = lane?.learnt?.held(request, estimated)
  return Math.max(counted, held ?? Math.max(estimated, request.promptTokensMax))
}

/** Any upstream of the route may answer, so the hold is at the highest price. */
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

/** The downgrade route, if a budget of the request names one with an upstream that is eligible now and has room, or a queue. */
export function downgradeOffer(
  wish: Wish,
  lanes: Lanes,
  clock: Pick<Clock, 'now'>,
): Offer | undefined | Promise<Offer | undefined> {
  const { request, quote, limits, caller, rules } = wish
  if (limits.downgrades.size === 0) return undefined
  const route = limits.downgrades.get(downgradeRouteOf(rules) ?? '')
  const lane = route === undefined ? undefined : lanes.get(route.name)
  if (route === undefined || lane === undefined) return undefined
  const yields = limits.rules.yields(caller.tenant)
  const tokens = quote.tokens ?? new PromptTokens(request)
  // Check the fit without throwing: the budget may not be exhausted, so this route may never be needed.
  const hasRoom = (target: Target) =>
    readAtOnce(request, tokens.at(target)) + (limitFor(target, request) ?? 1) <= windowOf(target)
  const mayServe = (target: Target) =>
    target.isOpen(clock.now(), yields) &&
    hasRoom(target) &&
    serves(target.settings.provider, request.operation)
  const offer = () => {
    if (!lane.targets.some(mayServe)) return undefined
    // Vectors of another model would spoil an index, and scores of another model do not compare.
    if (!areSame(request, lane, laneOf(wish.route, lanes))) return undefined
    const made = quoteOf(request, lane, route, tokens)
    return made instanceof Promise
      ? made.then((one) => offerOf(route, one, wish, lanes))
      : offerOf(route, made, wish, lanes)
  }
  const bounded = () => {
    if (!tokens.hasBounds(lane.targets) || lane.targets.every(hasRoom)) return offer()
    const counting = tokens.count(lane.targets)
    return counting === undefined ? offer() : counting.then(offer)
  }
  const counting = tokens.bound(lane.targets)
  return counting === undefined ? bounded() : counting.then(bounded)
}

/** Whether answers of both routes compare, for operations whose answers must. */
function areSame({ operation }: ModelRequest, one: Lane, other: Lane | undefined): boolean {
  if (!isCompared(operation)) return true
  const model = comparedModel(other?.targets ?? [], operation)
  return comparedModel(one.targets, operation) === model
}
