/** The memory store with a journal behind it: what was used survives restarts and kill -9. */

import type {
  AdmitRequest,
  AdmitResult,
  Beat,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Store,
} from '../../accounts/store.ts'
import type { Clock, Deadline } from '../../base/clock.ts'
import { Journal } from './journal.ts'
import type { Ledger } from './ledger.ts'
import { MemoryStore } from './memory.ts'

/**
 * Interval of writes. A kill loses at most this time, the 100 ms of the timer, and the usage of running requests since
 * their last beat; the usage of that beat is charged at the next start.
 */
export const FLUSH_MS = 250

/** Wait before a failed write is repeated. */
const RETRY_MS = 1_000

/** Rows of one write: about a millisecond. The rest is written at the next tick. */
const ROWS_MAX = 1_000

export interface DiskOptions {
  readonly stateDir: string
  readonly clock: Clock
  /** Called when writing begins to fail, and with undefined when it succeeds again. Counting continues meanwhile. */
  readonly onFailure: (error: Error | undefined) => void
}

/** Also a deadline: the caller must add it to the deadlines of the process, and close it at the end. */
export class DiskStore implements Store, Deadline {
  due: number
  seat = -1
  readonly #memory: MemoryStore
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #onFailure: DiskOptions['onFailure']
  readonly #changed: Ledger[] = []
  #failing = false
  #prunedAt: number

  /** Throws a StateError when the folder cannot be used. */
  constructor({ stateDir, clock, onFailure }: DiskOptions) {
    this.#clock = clock
    this.#onFailure = onFailure
    this.#journal = Journal.open(stateDir)
    this.#prunedAt = clock.wall()
    this.#memory = new MemoryStore({
      clock,
      restored: this.#journal.load(this.#prunedAt),
      onChange: (ledger) => this.#list(ledger),
    })
    this.due = clock.now() + FLUSH_MS
  }

  admit(request: AdmitRequest): AdmitResult {
    return this.#memory.admit(request)
  }

  extend(extension: Extension): boolean {
    return this.#memory.extend(extension)
  }

  renew(beats: readonly Beat[]): readonly string[] {
    return this.#memory.renew(beats)
  }

  settle(settling: Settling): Settlement {
    return this.#memory.settle(settling)
  }

  read(tenant: string, rules: Rules): Figures {
    return this.#memory.read(tenant, rules)
  }

  /** Writes one batch of what has changed. */
  expire(now: number): void {
    const written = this.#flush()
    const wait = written ? FLUSH_MS : RETRY_MS
    this.due = written && this.#changed.length > 0 ? now : now + wait
  }

  /** Writes everything that is left, and unlocks the folder. */
  close(): void {
    while (this.#changed.length > 0 && this.#flush());
    this.#journal.close()
  }

  #list(ledger: Ledger): void {
    if (ledger.isListed) return
    ledger.isListed = true
    this.#changed.push(ledger)
  }

  #flush(): boolean {
    try {
      this.#prune()
      const batch = this.#changed.slice(0, ROWS_MAX)
      if (batch.length > 0) this.#journal.write(batch)
      for (const ledger of batch) ledger.isListed = false
      this.#changed.splice(0, batch.length)
      if (this.#failing) this.#onFailure(undefined)
      this.#failing = false
      return true
    } catch (error) {
      if (!this.#failing) this.#onFailure(error as Error)
      this.#failing = true
      return false
    }
  }

  /** Once a day is enough, because an ended window costs only its row. */
  #prune(): void {
    const wall = this.#clock.wall()
    if (wall - this.#prunedAt < 86_400_000) return
    this.#journal.prune(wall)
    this.#prunedAt = wall
  }
}
