/** Storage of the history outside the memory of the process. */
import type { Page } from './page.ts'
import type { PageKind } from './places.ts'

export interface PageSpan {
  readonly kind: PageKind
  /** Milliseconds since the epoch; `until` is not included. */
  readonly from: number
  readonly until: number
}

export interface KeptPage {
  readonly place: string
  readonly page: Page
  /** The process that wrote it. */
  readonly replica?: string
}

export interface KeptHistory {
  readonly in: 'redis' | 'state_dir' | 'memory'
  /**
   * Pages of all replicas, of this one and of those before it. Rejects while the store is away; absent: this process
   * alone counts.
   */
  readonly read?: (span: PageSpan) => AsyncIterable<readonly KeptPage[]>
}
