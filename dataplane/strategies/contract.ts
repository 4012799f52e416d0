/** A strategy: a pure choice of order over the upstreams that are eligible now. */

import type { RouteSection } from '../schema/index.ts'
import type { StrategyName } from '../schema/strategy-names.ts'
import type { ModelRequest } from '../wire/inner-form.ts'

/** The facts about an upstream of the route that a strategy may use. */
export interface Candidate {
  readonly name: string
  /** Share under `weighted`; 1 where none is configured. */
  readonly weight: number
  /** Requests of this replica in flight there. */
  readonly inFlight: number
  /** Waiting plus running requests the runtime last reported; undefined when unknown or stale. */
  readonly reportedQueue: number | undefined
  /** Endpoints that share them; absent: one. */
  readonly replicas?: number
}

export interface Choice<C extends Candidate> {
  readonly route: RouteSection
  /** The upstreams of the route that may be tried now, in configuration order; never empty. */
  readonly eligible: readonly C[]
  readonly request: ModelRequest
  /** How hard the prompt is, from 0 to 1, where that has been found out already. */
  readonly difficulty?: number | undefined
  /** Requests this route has had before this one: what rotates. */
  readonly turn: number
  /** Uniform in [0, 1). */
  readonly random: () => number
}

export interface Strategy {
  readonly name: StrategyName
  readonly summary: string
  /** Names of the upstreams the strategy may use, in the order that `eligible` keeps. */
  members(route: RouteSection): readonly string[]
  /** The eligible candidates in the order in which they are to be tried. */
  order<C extends Candidate>(choice: Choice<C>): readonly C[]
}
