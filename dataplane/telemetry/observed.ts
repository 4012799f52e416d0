/** The parts of a gateway that telemetry reads. */
import type { Clock, Deadlines } from '../base/clock.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Environment } from '../wire/credential-source.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface Observed {
  readonly active: { readonly snapshot: Snapshot }
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly env: Environment
  readonly log: Log
  readonly metrics: Metrics
  /** Uniform in [0, 1). */
  readonly random: () => number
}
