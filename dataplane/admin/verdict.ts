/** Predicts the answer to the next request by running its stages, without a charge, a hold or a request. */

import type { QuotaSubject } from '../accounts/further/quotas.ts'
import type { Subject } from '../accounts/further/selectors.ts'
import { isBudgeted } from '../accounts/rules.ts'
import type { AdmitResult } from '../accounts/store.ts'
import { GatewayError } from '../base/errors.ts'
import type { Caller } from '../call/call.ts'
import type { Route } from '../config/snapshot.ts'
import { type Active, activeFor } from '../gateway/active.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { quotaEstimate, spentBy } from '../limits/attempt-quotas.ts'
import { forecast } from '../limits/forecast.ts'
import { downgradeOffer, type Offer, offerOf, type Wish } from '../limits/offer.ts'
import { quoteOf } from '../limits/quote.ts'
import { RECOUNTS_MAX, recounted } from '../limits/recount.ts'
import { refusalError } from '../limits/refusal.ts'
import { fitting, mayBeBudgeted, requireOperation, requirePrice } from '../request/stages/admit.ts'
import { match, permit } from '../request/stages/match.ts'
import { unavailable } from '../store/shared/shared.ts'
import type { CountedBy } from '../tokens/counter.ts'
import { Journey } from '../upstream/attempt/journey.ts'
import { type Next, nextAttempt } from '../upstream/attempt/plan.ts'
import { refusalOf } from '../upstream/attempt/refusal.ts'
import { unservedError } from '../upstream/attempt/unserved.ts'
import { awaitedBy, crowded } from '../upstream/cold-start/hold.ts'
import { withoutCredential } from '../upstream/credentials/upstream-credential.ts'
import { type Queued, queuesOf } from '../upstream/fairness/turn.ts'
import type { Target } from '../upstream/live/targets.ts'
import { laneOf } from '../upstream/named/lanes.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import { callerOf, type Hypothesis, requestOf } from './hypothesis.ts'
import { requireJudges, requireServices } from './services.ts'

export interface Verdict {
  readonly status: number
  /** Null if it is 200. */
  readonly code: string | null
  readonly message: string
  readonly retry_after_seconds: number | null
  /** Only for a request that is served. */
  readonly route?: string
  /** Upstreams of the request; several if chance or the prompt decides. */
  readonly upstreams?: readonly string[]
  /** Tokens of the prompt and their kind, if a budget or a window needs them. */
  readonly prompt?: { readonly tokens: number; readonly counted: CountedBy }
}

type Served = Pick<Verdict, 'route' | 'upstreams' | 'message' | 'prompt'>

export async function verdictOn(asked: Hypothesis, gateway: Gateway): Promise<Verdict> {
  try {
    const { message, ...served } = await judge(asked, gateway)
    const needed = `${message}${tagsNeeded(asked, gateway)}`
    return { status: 200, code: null, retry_after_seconds: null, ...served, message: needed }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const { status, code, message, details } = error
    const { retryAfterSeconds = null, counted } = details
    const prompt = counted && {
      tokens: counted.tokens,
      counted: counted.exact ? ('exact' as const) : ('estimate' as const),
    }
    return {
      status,
      code,
      message,
      retry_after_seconds: retryAfterSeconds,
      ...(prompt && { prompt }),
    }
  }
}

/** The required tags that the request has to bring, because its key does not set them. */
function tagsNeeded({ key }: Hypothesis, { active }: Gateway): string {
  const { required_tags: required } = active.snapshot.section.usage
  const needed = required.filter((name) => !key?.tags?.has(name))
  return needed.length === 0 ? '' : `, if the request has the tags: ${needed.join(', ')}`
}

/** Throws the error that the client would get. */
async function judge(asked: Hypothesis, whole: Gateway): Promise<Served> {
  const { section, limits } = whole.active.snapshot
  const caller = callerOf(asked, whole.clock.wall())
  const active = activeFor(whole.active, caller.tenant)
  const gateway = { ...whole, active }
  const request = requestOf(asked, section.gateway.max_request_bytes)
  permit(caller)
  const route = match(asked.model, caller, active.snapshot, gateway.clock.wall())
  const isLimited = caller.tenant !== ''
  const base = limits.rules.of(caller.tenant, asked.isKeyGiven ? caller.key.record.id : undefined)
  const subject = subjectOf(caller, route, request, asked)
  const rules = limits.further?.of(base, caller.key, subject, gateway.clock) ?? base
  requireOperation(request, route, laneOf(route, active.lanes))
  requirePrice(route, rules, limits)
  const isHeld = mayBeBudgeted(route, limits)
  const budgeted = (isLimited && isBudgeted(rules)) || isHeld ? route : undefined
  const quote = await quoteOf(request, laneOf(route, active.lanes), budgeted)
  const of = { caller: caller.key, subject }
  const first: Wished = { request, caller, route, rules, quote, limits, of }
  if (!isLimited) return served(first, active, gateway)
  const { wish, predicted, downgrade } = await predict(first, gateway)
  if (predicted.outcome === 'refused') throw refusalError(predicted, rules, gateway.clock.wall())
  if (predicted.outcome === 'admitted' || downgrade === undefined)
    return served({ ...wish, of }, active, gateway)
  const elsewhere = { ...wish, of, route: downgrade.route, quote: downgrade.quote }
  const instead = await served(elsewhere, active, gateway)
  const { scope } = predicted
  const holder = scope === undefined ? `tenant "${caller.tenant}"` : `${scope.kind} "${scope.name}"`
  const why = `on route "${downgrade.route.name}", because the budget of ${holder} is spent`
  return { ...instead, message: `${instead.message} ${why}` }
}

interface Wished extends Wish {
  readonly of: QuotaSubject
}

interface Predicted {
  /** With the counts that the prediction needed. */
  readonly wish: Wish
  readonly predicted: AdmitResult
  readonly downgrade: Offer | undefined
}

/** Replaces upper bounds with counts before it refuses, like the decision itself. */
async function predict(wish: Wish, gateway: Gateway, recounts = RECOUNTS_MAX): Promise<Predicted> {
  const { active, clock, store } = gateway
  const { caller, route, rules, quote } = wish
  const own = offerOf(route, quote, wish, active.lanes)
  const downgrade = await downgradeOffer(wish, active.lanes, clock)
  const figures = await store.read(caller.tenant, rules)
  if (figures.isOld === true) throw unavailable()
  const wanted = { estimate: own.estimate, downgradeEstimate: downgrade?.estimate }
  const predicted = forecast(figures, rules, wanted, clock.wall())
  if (predicted.outcome === 'refused' && recounts > 0) {
    const counted = recounted(predicted, wish, [own, downgrade], active.lanes, gateway)
    if (counted !== undefined)
      return predict({ ...wish, quote: await counted }, gateway, recounts - 1)
  }
  return { wish, predicted, downgrade }
}

/** Throws the error of a request for which no upstream is eligible. */
async function served(wish: Wished, active: Active, gateway: Gateway): Promise<Served> {
  const { request, caller, route, quote, limits } = wish
  requireServices(request, route, gateway)
  // A copy, because a lane counts its requests, and this is not a request.
  const lane = { ...laneOf(route, active.lanes) }
  const yields = limits.rules.yields(caller.tenant)
  const fits = fitting(request, quote, lane)
  const journey = new Journey({ request, route, lane, fits, yields }, gateway)
  const next = await planned(journey, wish, gateway)
  const now = gateway.clock.now()
  const awaited = awaitedBy(journey, next)
  if (awaited !== undefined) return waiting(awaited.target, route)
  const queued = next.kind === 'none' && next.why === 'saturated' ? queuesOf(journey) : []
  if (queued.length > 0) return queueing(queued, route)
  if (next.kind === 'none')
    throw unservedError(next.why, { route, lane, yields }, now, journey.spent)
  requireJudges(request, route, gateway)
  const others = journey.candidates.filter((one) => journey.standing(one) === 'ready')
  if (others.length > 0 && others.every(({ state }) => state.endpoints?.isBare))
    throw bareError(route, others)
  const asked = undecided(route, others) ?? [next.candidate]
  const upstreams = asked.map(({ name }) => name).toSorted()
  const bare = asked.find(lacksCredential)
  // The attempt would fail before it is sent; another candidate may still answer.
  if (bare !== undefined && others.every(lacksCredential))
    throw refusalOf(withoutCredential(bare.state.credential), bare.name)
  const doubt = bare === undefined ? '' : `, unless the credential of ${bare.name} stays missing`
  const message = `by upstream ${upstreams.join(' or ')}${doubt}`
  const { countedBy: counted, prompt: tokens } = quote
  const prompt = counted && { tokens, counted }
  return { route: route.name, upstreams, message, ...(prompt && { prompt }) }
}

/** The first attempt that the quotas of upstreams allow. */
async function planned(
  journey: Journey,
  { route, quote, of, ...wish }: Wished,
  { active, clock, store }: Gateway,
): Promise<Next<Target>> {
  const { estimate: held } = offerOf(route, quote, { route, quote, ...wish }, active.lanes)
  for (;;) {
    const next = nextAttempt(journey)
    if (next.kind === 'none') return next
    const { name, settings } = next.candidate
    const quota = wish.limits.quotas?.of(name)
    const rules = quota?.rulesFor(of, settings.model, clock)
    if (quota === undefined || rules === undefined) return next
    const figures = await store.read(quota.account, rules)
    const estimate = quotaEstimate(next.candidate, { ...wish, held })
    const wanted = { estimate, downgradeEstimate: undefined }
    const predicted = forecast(figures, rules, wanted, clock.wall())
    if (predicted.outcome !== 'refused') return next
    journey.passOver(next.candidate, spentBy(predicted, rules, clock))
  }
}

/** A request still goes to the host name of such an upstream, but fails unless a pod has just become ready. */
function bareError(route: Route, targets: readonly Target[]): GatewayError {
  const names = targets.map(({ name }) => name).join(', ')
  return new GatewayError(
    'ERR_GW_NO_HEALTHY_UPSTREAM',
    `No pod takes requests for the upstreams of route "${route.name}" (${names}): ` +
      'their Services have no ready pod, or do not exist.',
    { retryAfterSeconds: 1 },
  )
}

/** Throws if no further request may wait. */
function waiting(target: Target, route: Route): Served {
  const { name, state } = target
  if (state.coldStart.isFull) throw crowded(target)
  const { waiting: others, settings } = state.coldStart
  const seconds = settings?.max_wait_seconds
  const message = `by upstream ${name}, once it has an endpoint: requests wait ${seconds} s at most (${others} do)`
  return { route: route.name, upstreams: [name], message }
}

/** It would wait for a place; whether another request has to go for it depends on the tenants that wait. */
function queueing(queued: readonly Queued[], route: Route): Served {
  const upstreams = queued.map(({ target }) => target.name).toSorted()
  const seconds = Math.max(...queued.map(({ queue }) => queue.settings.max_wait_seconds))
  const others = Math.max(...queued.map(({ queue }) => queue.waiting))
  const message = `by upstream ${upstreams.join(' or ')}, once it has a place: requests wait ${seconds} s at most (${others} do)`
  return { route: route.name, upstreams, message }
}

/** A request does not wait for a fetch that has just failed. */
function lacksCredential({ state }: Target): boolean {
  const { renewed } = state.credential
  return renewed?.state === 'missing' && renewed.pending() === undefined
}

/** Upstreams between which a random choice or an unknown prompt decides. */
function undecided({ strategy }: Route, ready: readonly Target[]): readonly Target[] | undefined {
  const possible = strategy.name === 'weighted' ? ready.filter(({ weight }) => weight > 0) : ready
  if (strategy.name !== 'weighted' && strategy.name !== 'semantic') return undefined
  return possible.length > 1 ? possible : undefined
}

function subjectOf(
  { key, tenant }: Caller,
  { name: route, models }: Route,
  { operation }: ModelRequest,
  { model }: Hypothesis,
): Subject {
  const tags = [...(key.tags?.values() ?? [])].join(',')
  return { tenant, key: key.record.id, route, models, model, operation, tags }
}
