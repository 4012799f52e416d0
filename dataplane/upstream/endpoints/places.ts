/** How many requests endpoints may still get. */

/** The bounds of each endpoint. */
export interface Bounds {
  /** Most requests of this replica in flight. */
  readonly places: number
  /** Most requests that the runtime reports, of all clients. */
  readonly reported: number
}

interface Loaded {
  readonly inFlight: number
  /** The requests in flight, and those of others that the runtime reports. */
  load(now: number): number
}

export function freeAt(one: Loaded, { places, reported }: Bounds, now: number): number {
  const free = places - one.inFlight
  if (reported === Number.POSITIVE_INFINITY) return Math.max(0, free)
  return Math.max(0, Math.min(free, reported - one.load(now)))
}

export function freeIn(endpoints: readonly Loaded[], bounds: Bounds, now: number): number {
  return endpoints.reduce((sum, one) => sum + freeAt(one, bounds, now), 0)
}
