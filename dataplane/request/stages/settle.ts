/** What did the request use? Runs exactly once for every admitted request, and never throws. */

import { type CacheEffect, cacheEffectOf, costOf, type PriceList } from '../../accounts/price.ts'
import { type Charger, charge } from '../../limits/charging.ts'
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
  /** undefined if it had nothing to do with a cache, or has no price. */
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
  charge(lease, gateway)
  inFlight.value--
  const { tokens, cost, tenantCost, caches: cached } = gateway.metrics
  meter.learn(request)
  return meter.charges(request).map(({ attempt, usage }) => {
    tokens.at(route.name, attempt.upstream, 'prompt').value += usage.promptTokens
    tokens.at(route.name, attempt.upstream, 'completion').value += usage.completionTokens
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
