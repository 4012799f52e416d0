/** What did the request use? Runs exactly once for every admitted request, and never throws. */

import { type CacheEffect, cacheEffectOf, costOf, type PriceList } from '../../accounts/price.ts'
import { type Charger, charge } from '../../limits/charging.ts'
import { usdText } from '../../limits/headers.ts'
import type { AnswerCost } from '../../wire/dialect.ts'
import type { ModelRequest, Usage } from '../../wire/inner-form.ts'
import type { Admission } from './admit.ts'

export type Settled = Pick<
  Admission,
  'lease' | 'route' | 'lane' | 'estimated' | 'inFlight' | 'meter' | 'prices'
>

/** The usage of one attempt. */
export interface Charge {
  /** Index of the attempt. */
  readonly attempt: number
  readonly usage: Usage
  readonly nanos: number
  /** undefined if no cache was involved, or it has no price. */
  readonly caches: CacheEffect | undefined
}

/**
 * Counts a prompt whose upstream reported no usage, if only an upper bound is known. Most requests need no count,
 * because their upstream reports usage.
 */
export function countLate(
  request: ModelRequest,
  { tokens, lane, meter }: Pick<Admission, 'tokens' | 'lane' | 'meter'>,
): Promise<unknown> | undefined {
  const isBound = tokens?.hasBounds(lane.targets) === true && meter.lacksPrompt(request)
  return isBound ? tokens.count(lane.targets) : undefined
}

/** Returns the charges: one for every attempt that used something. */
export function settle(
  request: ModelRequest,
  { lease, route, lane, estimated, inFlight, meter, prices }: Settled,
  gateway: Charger,
): Charge[] {
  meter.close(request)
  charge(lease, gateway)
  inFlight.value--
  const { tokens, cost, tenantCost, caches: cached } = gateway.metrics
  meter.learn(request)
  const charges = meter.charges(request)
  if (lane.hasQueues) settlePlaces(charges, meter)
  return charges.map(({ attempt, usage }) => {
    tokens.at(route.name, attempt.upstream, 'prompt').value += usage.promptTokens
    tokens.at(route.name, attempt.upstream, 'completion').value += usage.completionTokens
    countParts(tokens, route.name, attempt.upstream, usage)
    // The estimate does not include the passages.
    if (estimated !== undefined && !usage.estimated)
      lane.learnt?.note(request, estimated, usage.promptTokens - meter.addedTokens)
    const price = prices.get(attempt.model)
    const nanos = costOf(usage, price)
    const caches = cacheEffectOf(usage, price)
    if (nanos > 0) {
      cost.at(route.name, attempt.upstream).value += nanos
      tenantCost.at(lease.hold.tenant).value += nanos
    }
    if (caches !== undefined) {
      cached.at(route.name, attempt.upstream, 'gain').value += caches.gain
      cached.at(route.name, attempt.upstream, 'surcharge').value += caches.surcharge
    }
    return { attempt: attempt.index, usage, nanos, caches }
  })
}

/** Parts of the prompt and the completion; a series begins with its first tokens. */
function countParts(
  tokens: Charger['metrics']['tokens'],
  route: string,
  upstream: string,
  { cachedTokens, cacheWriteTokens = 0, reasoningTokens }: Usage,
): void {
  if (cachedTokens > 0) tokens.at(route, upstream, 'cache_read').value += cachedTokens
  if (cacheWriteTokens > 0) tokens.at(route, upstream, 'cache_write').value += cacheWriteTokens
  if (reasoningTokens > 0) tokens.at(route, upstream, 'reasoning').value += reasoningTokens
}

/**
 * Fixes the charges of a whole answer before it is sent, so that its header states them. Returns a promise if the prompt
 * must be counted first.
 */
export function closeWhole(
  request: ModelRequest,
  admission: Admission,
  notes: Costed,
): Promise<void> | undefined {
  const counting = countLate(request, admission)
  if (counting !== undefined) return counting.then(() => close(request, admission, notes))
  close(request, admission, notes)
  return undefined
}

function close(request: ModelRequest, admission: Priced, notes: Costed): void {
  admission.meter.close(request)
  notes.costs(costSoFar(request, admission))
}

type Priced = Pick<Admission, 'meter' | 'prices'>

interface Costed {
  costs(cost: AnswerCost): void
}

/** The cost of all attempts so far; the usage is that of the last attempt. */
export function costSoFar(request: ModelRequest, { meter, prices }: Priced): AnswerCost {
  const charges = meter.charges(request)
  const last = charges.at(-1)
  const usage = last?.attempt === meter.attempts.at(-1) ? last?.usage : undefined
  let estimated = false
  let nanos: number | undefined = 0
  for (const { attempt, usage: used } of charges) {
    estimated ||= used.estimated
    const price = prices.get(attempt.model)
    nanos = nanos === undefined || price === undefined ? undefined : nanos + costOf(used, price)
  }
  if (nanos === undefined || last === undefined) return { usage, estimated }
  return { usage, estimated, usd: usdText(nanos) }
}

/** An attempt without usage has used nothing of its tenant's share. */
function settlePlaces(
  charges: ReturnType<Admission['meter']['charges']>,
  { attempts }: Admission['meter'],
) {
  for (const { attempt, usage } of charges) attempt.place?.settle(usage.completionTokens)
  for (const { place } of attempts) place?.settle(0)
}

/** Nano-dollars that caches have saved, as far as the upstreams have said; undefined if they said nothing of one. */
export function savedSoFar(
  { attempts }: Admission['meter'],
  prices: PriceList,
): number | undefined {
  let saved: number | undefined
  for (const { usage, model } of attempts) {
    const caches = usage && cacheEffectOf(usage, prices.get(model))
    if (caches !== undefined) saved = (saved ?? 0) + caches.gain - caches.surcharge
  }
  return saved
}
