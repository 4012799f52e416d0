/** The client's error if no upstream of the route is eligible. */
import { GatewayError } from '../../base/errors.ts'
import type { Lane } from '../live/targets.ts'
import type { Spent } from './attempts.ts'
import type { Ending } from './plan.ts'

export interface Unserved {
  readonly route: { readonly name: string }
  readonly lane: Lane
  readonly yields: boolean
}

/** `now` is the monotonic present. */
export function unservedError(
  why: Ending,
  { route, lane, yields }: Unserved,
  now: number,
  spent?: Spent,
): GatewayError {
  const { targets, barred = [] } = lane
  const [first] = targets.length === 0 ? barred : []
  if (first !== undefined) {
    return new GatewayError(
      'ERR_GW_AUTH_SCOPE_DENIED',
      `No upstream of route "${route.name}" is one that the tenant may use: each ${first.why}.`,
      { param: 'model' },
    )
  }
  const names = targets.map((target) => target.name).join(', ')
  if (why === 'saturated' && spent !== undefined && !hasPlaces(lane, now)) {
    return new GatewayError(
      'ERR_GW_QUEUE_SATURATED',
      `Every eligible upstream of route "${route.name}" (${names}) is full: ${spent.why}.`,
      { retryAfterSeconds: Math.max(1, Math.ceil((spent.until - now) / 1000)), facts: spent.facts },
    )
  }
  if (why === 'saturated') {
    // A fallback that may not take over is not full.
    const full = targets.filter((target) => target.standing(now, yields) === 'full')
    const them = full.map((target) => target.name).join(', ') || names
    return new GatewayError(
      'ERR_GW_QUEUE_SATURATED',
      `Every eligible upstream of route "${route.name}" (${them}) is full${yields ? ' for requests of low priority' : ''}.`,
      {
        retryAfterSeconds: 1,
      },
    )
  }
  const mismatched = lane.targets.find(({ state }) => state.revision?.state === 'mismatch')
  if (mismatched !== undefined) {
    return new GatewayError(
      'ERR_GW_TOKENIZER_MISMATCH',
      `Upstream "${mismatched.name}" of route "${route.name}" serves another model revision than its tokenizer is pinned to.`,
    )
  }
  return new GatewayError(
    'ERR_GW_NO_HEALTHY_UPSTREAM',
    `No upstream of route "${route.name}" (${names}) is eligible now.`,
    {
      retryAfterSeconds: reopeningSeconds(lane, now),
    },
  )
}

/** Whether an upstream is full only because of its running requests, so that it has a place soon. */
function hasPlaces({ targets }: Lane, now: number): boolean {
  return targets.some((target) => target.standing(now, false) === 'full')
}

/** For an upstream with several endpoints, none of which can be reached. */
export function unreachedError(upstream: string, tried: number): GatewayError {
  const places = tried === 1 ? 'one endpoint' : `${tried} endpoints`
  return new GatewayError(
    'ERR_GW_NO_HEALTHY_UPSTREAM',
    `Upstream "${upstream}" could not be reached: ${places} tried in vain.`,
    { retryAfterSeconds: 1 },
  )
}

/** Time until the first breaker allows a request; the recovery of an unhealthy upstream cannot be predicted. */
function reopeningSeconds({ targets }: Lane, now: number): number {
  const moments = targets.map(({ state }) => state.breaker.reopensAt ?? Number.POSITIVE_INFINITY)
  const first = Math.min(...moments)
  return Number.isFinite(first) ? Math.max(1, Math.ceil((first - now) / 1000)) : 1
}
