/** The parts of the process that upstreams and their endpoints use. */
import type { Clock } from '../../base/clock.ts'
import type { ReadText } from '../../config/tls-files.ts'
import type { Resolve } from '../../connection/addresses.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Environment } from '../../wire/credential-source.ts'
import type { NameWorld } from './names.ts'
import type { PushedEndpoints } from './pushed.ts'
import type { Reports } from './reports.ts'

export interface EndpointsWorld extends NameWorld {
  readonly random: () => number
  readonly metrics: Metrics
  readonly log: Log
  readonly reports: Reports
  /** Absent if no operator sends endpoints. */
  readonly pushed?: PushedEndpoints | undefined
  /** Number of endpoints of all upstreams of the process. */
  readonly census: { count: number }
}

/** The parts of the process that the state of upstreams uses. */
export interface World {
  readonly clock: Clock
  readonly random: () => number
  readonly metrics: Metrics
  readonly log: Log
  readonly readText: ReadText
  readonly env: Environment
  /** Resolves names to addresses; absent: the resolver of the system. */
  readonly resolve?: Resolve
  /** The endpoints that the operator sends to a pod. */
  readonly pushed?: PushedEndpoints | undefined
}
