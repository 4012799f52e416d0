/** A strategy: a pure choice of order over the upstreams that are eligible now. */

import type { StrategyName } from '../schema/constants.ts'
import type { RouteSection } from '../schema/index.ts'
import type { ModelRequest } from '../wire/inner-form.ts'

/** The facts about an upstream of the route that a strategy may use. */
export interface Candidate {
  readonly name: string
  /** Share under `weighted`; 1 if none is configured. */
  readonly weight: number
  /** Requests of this replica in flight to it. */
  readonly inFlight: number
  /** Waiting plus running requests in the runtime's last report; undefined if unknown or stale. */
  readonly reportedQueue: number | undefined
  /** Average milliseconds to the first content of a stream; undefined before the first. */
  readonly firstContentMs?: number | undefined
  /** The cost of a sample request at its model; undefined without a price. */
  readonly price?: number | undefined
  /** Number of endpoints that share them; absent: one. */
  readonly replicas?: number
}

export interface Choice<C extends Candidate> {
  readonly route: RouteSection
  /** The upstreams of the route that may be tried now, in configuration order; never empty. */
  readonly eligible: readonly C[]
  readonly request: ModelRequest
  /** How hard the prompt is, from 0 to 1, if it was scored. */
  readonly difficulty?: number | undefined
  /** Number of earlier requests of this route, for rotation. */
  readonly turn: number
  /** Uniform in [0, 1). */
  readonly random: () => number
}

export interface Strategy {
  readonly name: StrategyName
  readonly summary: string
  /** Names of the upstreams that the strategy may use, in the order of `eligible`. */
  members(route: RouteSection): readonly string[]
  /** The eligible candidates in the order of attempts. */
  order<C extends Candidate>(choice: Choice<C>): readonly C[]
}
