/** Why upstreams of a route are no candidates of a request. */
import type { PassedOver } from '../../telemetry/trace/parts.ts'
import { serves } from '../../translation/pair.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import { targetsFor } from '../groups/lane-order.ts'
import type { Lane, Target } from '../live/targets.ts'
import { comparedModel, compares, isCompared } from '../live/vectors.ts'

interface LookedAt {
  readonly request: ModelRequest
  readonly lane: Lane
  readonly fits: (target: Target) => boolean
  readonly yields: boolean
  readonly isNewer?: boolean | undefined
}

export function overOf(
  { request, lane, fits, yields, isNewer }: LookedAt,
  now: number,
): PassedOver[] {
  const over: PassedOver[] = [...(lane.barred ?? [])]
  for (const target of targetsFor({ lane, isNewer })) {
    const why = fits(target)
      ? (target.state.outBecause(now) ?? whyFull(target, now, yields))
      : whyUnfit(target, request, lane)
    if (why !== undefined) over.push({ upstream: target.name, why })
  }
  return over
}

function whyUnfit(target: Target, { operation, keepers }: ModelRequest, { targets }: Lane): string {
  const { provider } = target.settings
  if (keepers?.has(target.name) === false) return 'does not keep the response'
  if (!serves(provider, operation)) return `${provider.name} has no ${operation}`
  if (isCompared(operation) && !compares(target, operation, comparedModel(targets, operation)))
    return operation === 'embeddings' ? 'another embedding model' : 'another model'
  return 'context window too small'
}

function whyFull(target: Target, now: number, yields: boolean): string | undefined {
  if (target.standing(now, yields) !== 'full') return undefined
  const isFull = target.standing(now, false) === 'full'
  const { fair } = target.state
  const waiting = fair === undefined ? '' : `, ${fair.waiting} wait`
  return `${isFull ? 'full' : 'full for low priority'}: ${target.inFlight} in flight${waiting}`
}
