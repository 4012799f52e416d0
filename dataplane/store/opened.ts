/** An open store, and the parts of the process that it needs. */

import type { Store } from '../accounts/store.ts'
import type { Clock, Deadlines } from '../base/clock.ts'
import type { Section } from '../schema/index.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Cells } from './cells/cells.ts'
import type { HistoryBook } from './history/book.ts'
import type { KeptHistory } from './history/kept.ts'
import type { UsageBook } from './usage-book.ts'
import type { KeptUsage } from './usage-row.ts'

export interface StoreContext {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly metrics: Metrics
  readonly log: Log
  /** The usage book, stored with the counters. */
  readonly usage: UsageBook
  /** The history, stored beside them. */
  readonly history: HistoryBook
  /** Absent if this process counts alone, or with others in Redis. */
  readonly common?: CommonStore
}

/** The store of all processes of a gateway, which one of them keeps. */
export interface CommonStore {
  readonly socket: string
  /** Whether this process keeps it. */
  readonly isHere: boolean
}

export interface OpenStore {
  readonly store: Store
  readonly usage: KeptUsage
  readonly history: KeptHistory
  /** The states of rollouts. */
  readonly cells: Cells
  /** A member of GET /status. */
  status(): Readonly<Record<string, unknown>>
  /** Takes the settings that need no restart from a new configuration. */
  follow(section: Pick<Section, 'rate_limits'>): void
  /** Resolves after the first answer; waits at most a second for a shared store. */
  start(): Promise<void>
  /** Writes the rest; nothing may be counted afterwards. */
  close(): Promise<void>
}
