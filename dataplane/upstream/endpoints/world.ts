/** The parts of the process that endpoints use. */
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { NameWorld } from './names.ts'
import type { PushedEndpoints } from './pushed.ts'
import type { Reports } from './reports.ts'

export interface EndpointsWorld extends NameWorld {
  readonly random: () => number
  readonly metrics: Metrics
  readonly log: Log
  readonly reports: Reports
  /** Absent where no operator sends any. */
  readonly pushed?: PushedEndpoints | undefined
  /** Endpoints of all upstreams of the process. */
  readonly census: { count: number }
}
