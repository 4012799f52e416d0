/** The pages of the history in `state_dir`, which outlive the process. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock, Deadline } from '../../base/clock.ts'
import { ChangedEntries } from '../memory/changed-entries.ts'
import { openDatabase } from '../memory/database.ts'
import type { HistoryBook } from './book.ts'
import type { Page } from './page.ts'
import { oldestOf, PAGE_KINDS } from './places.ts'

/** Shortly after the turn of the book. */
const FLUSH_MS = 5_000
/** Pages of one write. */
const PAGES_MAX = 100

const TABLE = 'CREATE TABLE IF NOT EXISTS pages (place TEXT PRIMARY KEY, page BLOB NOT NULL) STRICT'

export interface DiskPagesOptions {
  readonly stateDir: string
  readonly book: HistoryBook
  readonly clock: Clock
  /** Called when writing begins to fail, and with undefined when it succeeds again. */
  readonly onFailure: (error: Error | undefined) => void
}

/** A deadline: the caller must add it to those of the process, and close it at the end. */
export class DiskPages implements Deadline {
  due: number
  seat = -1
  readonly #options: DiskPagesOptions
  readonly #database: DatabaseSync
  readonly #upsert: StatementSync
  readonly #forget: StatementSync
  readonly #changed: ChangedEntries<string>

  /** Throws a StateError when the folder cannot be used. */
  constructor(options: DiskPagesOptions) {
    const { stateDir, book, clock } = options
    const file = { name: 'history.sqlite', format: 1, table: TABLE, holds: 'history' }
    this.#options = options
    this.#database = openDatabase(stateDir, file)
    this.#changed = new ChangedEntries({
      database: this.#database,
      most: PAGES_MAX,
      write: (entries) => this.#write(entries),
      onFailure: options.onFailure,
    })
    this.#upsert = this.#database.prepare('INSERT OR REPLACE INTO pages VALUES (?, ?)')
    this.#forget = this.#database.prepare('DELETE FROM pages WHERE place >= ? AND place < ?')
    const rows = this.#database.prepare('SELECT place, page FROM pages ORDER BY place').all()
    // The cast is safe, because only these statements write the table.
    book.restore(
      (rows as unknown as { place: string; page: Page }[]).map(
        ({ place, page }) => [place, page] as const,
      ),
    )
    book.changed = this.#changed.all
    this.due = clock.now() + FLUSH_MS
  }

  expire(now: number): void {
    this.#changed.flush()
    this.due = now + FLUSH_MS
  }

  /** Writes everything that is left, and unlocks the file. */
  close(): void {
    this.#options.book.turn()
    this.#changed.flushAll()
    this.#database.close()
  }

  #write(places: readonly string[]): void {
    const { book } = this.#options
    for (const place of places) {
      const page = book.page(place)
      if (page !== undefined) this.#upsert.run(place, page)
    }
    for (const kind of PAGE_KINDS) this.#forget.run(`${kind}:`, oldestOf(kind, book.wall))
  }
}
