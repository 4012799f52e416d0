/** May the request run now? One decision over rate, concurrency, context and budgets; and the facts of an admitted request. */

import type { PriceList } from '../../accounts/price.ts'
import { isBudgeted, isSpendBudgeted } from '../../accounts/rules.ts'
import type { Rules } from '../../accounts/store.ts'
import { GatewayError } from '../../base/errors.ts'
import type { Caller } from '../../call/call.ts'
import type { Limits, Route } from '../../config/snapshot.ts'
import type { Active } from '../../gateway/active.ts'
import {
  type Applicant,
  type Decision,
  decide,
  type Limited,
  type Limiter,
} from '../../limits/decision.ts'
import type { Lease } from '../../limits/leases.ts'
import { type Quote, quoteOf } from '../../limits/quote.ts'
import type { Cell } from '../../telemetry/series.ts'
import { isGenerated } from '../../tokens/count.ts'
import type { CountedBy, PromptTokens } from '../../tokens/counter.ts'
import { Meter } from '../../tokens/meter.ts'
import { serves } from '../../translation/pair.ts'
import type { Lane, Target } from '../../upstream/live/targets.ts'
import { comparedModel, compares, isCompared } from '../../upstream/live/vectors.ts'
import { laneOf } from '../../upstream/named/lanes.ts'
import type { ModelRequest, Operation } from '../../wire/inner-form.ts'

export interface Admission {
  readonly caller: Caller
  /** The route that serves the request: the downgrade route if the budget is spent. */
  readonly route: Route
  readonly lane: Lane
  readonly meter: Meter
  /** Monotonic deadline of the request, attempts and answer included. */
  readonly totalAt: number
  /** The route's limit of tokens, sent to the upstream if the client gave none and a budget applies. */
  readonly maxTokens: number | undefined
  /** Whether prompt and answer fit the target's context window. */
  readonly fits: (target: Target) => boolean
  /** Whether the tenant's priority is low, so that the last places of an upstream stay free for others. */
  readonly yields: boolean
  /** Prices of this request; a reload changes only later requests. */
  readonly prices: PriceList
  /** The tokens of the prompt on which the decision is based; undefined if it needed none. */
  readonly counted: number | undefined
  readonly countedBy: CountedBy | undefined
  /** The part of `counted` from which the route's estimates improve; undefined if no upstream needs estimates. */
  readonly estimated: number | undefined
  /** The counts from which `counted` comes. */
  readonly tokens: PromptTokens | undefined
  /** The request's lease in the store. */
  readonly lease: Lease
  /** The tenant's limits, by header name. */
  readonly limitHeaders: Readonly<Record<string, string>>
  /** `settle` decrements this same object, because a reload may replace the series. */
  readonly inFlight: Cell
}

/** Throws ERR_GW_CONTEXT_OVERFLOW, ERR_GW_RATE_LIMIT_LOCAL, ERR_GW_BUDGET_EXCEEDED, and then holds nothing. */
export function admit(
  applicant: Applicant,
  active: Active,
  gateway: Limiter,
): Admission | Promise<Admission> {
  const { request, route, rules } = applicant
  const { limits } = active.snapshot
  const budgeted = isBudgeted(rules) || mayBeBudgeted(route, limits) ? route : undefined
  const lane = laneOf(route, active.lanes)
  requireOperation(request, route, lane)
  requirePrice(route, rules, limits)
  const quote = quoteOf(request, lane, budgeted)
  const ask = (made: Quote) => {
    const meter = new Meter()
    return admitWith({ ...applicant, quote: made, limits, meter }, active, gateway)
  }
  // Most prompts need no waiting for a count.
  return quote instanceof Promise ? quote.then(ask) : ask(quote)
}

/** Whether an upstream of the route has a quota with a budget, so that attempts hold their answers. */
export function mayBeBudgeted({ members }: Route, { quotas }: Limits): boolean {
  if (quotas === undefined) return false
  return members.some(({ upstream }) => quotas.of(upstream.name)?.isBudgeted === true)
}

function admitWith(
  limited: Limited,
  active: Active,
  gateway: Limiter,
): Admission | Promise<Admission> {
  const decision = decide(limited, active.lanes, gateway)
  return decision instanceof Promise
    ? decision.then((made) => admission(made, limited, active, gateway))
    : admission(decision, limited, active, gateway)
}

function admission(
  { route, quote, lease, limitHeaders }: Decision,
  { call, request, caller, meter, limits }: Limited,
  active: Active,
  { metrics, clock }: Limiter,
): Admission {
  const inFlight = metrics.inFlight.at(route.name)
  const lane = laneOf(route, active.lanes)
  inFlight.value++
  return {
    caller,
    route,
    lane,
    meter,
    totalAt: totalOf(request, route, call.receivedAt, clock.now()),
    maxTokens: quote.injected,
    fits: fitting(request, quote, lane),
    yields: limits.rules.yields(caller.tenant),
    prices: limits.prices,
    counted: quote.tokens === undefined ? undefined : quote.prompt,
    countedBy: quote.countedBy,
    estimated: quote.estimated,
    tokens: quote.tokens,
    lease,
    limitHeaders,
    inFlight,
  }
}

/** The time for receiving the body counts. For an answer that is not a stream, the silence begins after the body. */
export function totalOf(
  { stream }: Pick<ModelRequest, 'stream'>,
  route: Pick<Route, 'timeoutMs' | 'silenceMs'>,
  receivedAt: number,
  now: number,
): number {
  const total = receivedAt + route.timeoutMs
  return stream ? total : Math.min(total, now + route.silenceMs)
}

export function fitting(
  { operation, keepers }: ModelRequest,
  { fitsAll, fits }: Quote,
  { targets }: Lane,
): Admission['fits'] {
  const serving = suitingOf(operation, targets)
  const suits =
    keepers === undefined
      ? serving
      : (target: Target) => keepers.has(target.name) && serving(target)
  if (fitsAll && targets.every(suits)) return fitsAnywhere
  return (target) => suits(target) && fits(target)
}

function suitingOf(operation: Operation, targets: readonly Target[]): Admission['fits'] {
  if (!isCompared(operation)) return ({ settings }) => serves(settings.provider, operation)
  const model = comparedModel(targets, operation)
  return (target) => compares(target, operation, model)
}

/** Throws ERR_GW_INVALID_REQUEST if no upstream of the route supports the operation. */
export function requireOperation(
  { operation }: Pick<ModelRequest, 'operation'>,
  route: Route,
  { targets }: Lane,
): void {
  const isText = isGenerated(operation)
  const isServed = ({ settings: { provider, isForVectors } }: Target) =>
    serves(provider, operation) && !(isText && isForVectors)
  if (targets.length === 0 || targets.some(isServed)) return
  const whys = targets.map(({ settings: { provider, model } }) =>
    serves(provider, operation) ? `${model} makes vectors` : `${provider.name} has none`,
  )
  throw new GatewayError(
    'ERR_GW_INVALID_REQUEST',
    `Route "${route.name}" has no upstream for ${operation} (${[...new Set(whys)].join(', ')}).`,
    { param: 'model' },
  )
}

/** Throws ERR_GW_INVALID_REQUEST if a budget in money applies and the model that the client names has no price. */
export function requirePrice(
  { members, sent }: Pick<Route, 'members' | 'sent'>,
  rules: Rules,
  { prices }: Pick<Limits, 'prices'>,
): void {
  if (sent === undefined || !isSpendBudgeted(rules)) return
  const free = members.find(({ upstream }) => upstream.isNamed && !prices.has(upstream.model))
  if (free === undefined) return
  throw new GatewayError(
    'ERR_GW_INVALID_REQUEST',
    `The model "${free.upstream.model}" has no price here, and a spend budget applies to you. ` +
      'Name a model with a price, or ask for this one to be added to pricing.',
    { param: 'model' },
  )
}

function fitsAnywhere(): boolean {
  return true
}
