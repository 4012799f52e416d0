/** A store in use, and the parts of the process that it is opened with. */

import type { Store } from '../accounts/store.ts'
import type { Clock, Deadlines } from '../base/clock.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { UsageBook } from './usage-book.ts'
import type { KeptUsage } from './usage-row.ts'

export interface StoreContext {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly metrics: Metrics
  readonly log: Log
  /** Kept where counters are kept. */
  readonly usage: UsageBook
}

export interface OpenStore {
  readonly store: Store
  readonly usage: KeptUsage
  /** A member of GET /status. */
  status(): Readonly<Record<string, unknown>>
  /** Resolves once it answers; a shared one that is away is not waited for longer than a second. */
  start(): Promise<void>
  /** Writes what is left; nothing may be counted afterwards. */
  close(): Promise<void>
}
