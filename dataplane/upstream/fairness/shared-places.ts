/**
 * Gives an upstream a queue for requests that wait for its places, and changes or closes the queue.
 */
import { schedule } from '../../base/clock.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { placesOf } from '../../config/upstreams/fairness.ts'
import type { FairnessSection } from '../../schema/fairness.ts'
import { type Bounds, freeAt } from '../endpoints/places.ts'
import type { World } from '../endpoints/world.ts'
import type { TargetState } from '../live/target-state.ts'
import { FairQueue } from './fair-queue.ts'

export function shareOut(
  state: TargetState,
  { name, section }: Pick<UpstreamSettings, 'name' | 'section'>,
  fairness: FairnessSection | undefined,
  { clock, metrics }: Pick<World, 'clock' | 'metrics'>,
): void {
  const before = state.fair
  if (fairness === undefined) {
    state.fair = undefined
    before?.end()
    return
  }
  const bounds = {
    places: placesOf(section) ?? Number.POSITIVE_INFINITY,
    reported: fairness.max_reported_queue ?? Number.POSITIVE_INFINITY,
  }
  const free = () => freeOf(state, bounds, clock.now())
  if (before !== undefined) {
    before.configure(fairness, free)
    return
  }
  state.fair = new FairQueue(name, fairness, {
    clock,
    metrics,
    schedule,
    free,
    inFlight: () => state.inFlight,
    isOut: () => state.outBecause(clock.now()) !== undefined,
  })
}

function freeOf(state: TargetState, bounds: Bounds, now: number): number {
  const { endpoints } = state
  if (endpoints !== undefined && endpoints.count > 0) return endpoints.free(bounds, now)
  return freeAt(state, bounds, now)
}
