/** Entries that changed since they were last written to a database: written in parts, each part in one transaction. */
import type { DatabaseSync } from 'node:sqlite'

export interface ChangedEntriesOptions<T> {
  readonly database: DatabaseSync
  /** Most entries of one write. */
  readonly most: number
  /** Writes these entries; runs within a transaction. */
  readonly write: (entries: readonly T[]) => void
  /** Called when writing begins to fail, and with undefined when it succeeds again. */
  readonly onFailure: (error: Error | undefined) => void
}

export class ChangedEntries<T> {
  readonly all = new Set<T>()
  readonly #options: ChangedEntriesOptions<T>
  #failing = false

  constructor(options: ChangedEntriesOptions<T>) {
    this.#options = options
  }

  /** Writes one part. Returns whether that succeeded. */
  flush(): boolean {
    if (this.all.size === 0) return true
    const { most, onFailure } = this.#options
    try {
      this.#writeAtOnce([...this.all.values().take(most)])
      if (this.#failing) onFailure(undefined)
      this.#failing = false
      return true
    } catch (error) {
      if (!this.#failing) onFailure(error as Error)
      this.#failing = true
      return false
    }
  }

  /** Writes all parts, until one fails. */
  flushAll(): void {
    while (this.all.size > 0 && this.flush());
  }

  #writeAtOnce(entries: readonly T[]): void {
    const { database, write } = this.#options
    database.exec('BEGIN')
    try {
      write(entries)
      database.exec('COMMIT')
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
    for (const entry of entries) this.all.delete(entry)
  }
}
