/** The rows of usage in `state_dir`, which outlive the process. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Clock, Deadline } from '../../base/clock.ts'
import type { UsageBook } from '../usage-book.ts'
import { AMOUNTS, ROW_NAMES, type Row } from '../usage-row.ts'
import { ChangedEntries } from './changed-entries.ts'
import { openDatabase } from './database.ts'

/** A kill loses at most the usage of this time. */
const FLUSH_MS = 1000
/** Wait before a failed write is repeated. */
const RETRY_MS = 5000
/** Rows of one write: a few milliseconds. */
const ROWS_MAX = 1000

const NAMES = ['hour', ...ROW_NAMES] as const

const TABLE = `CREATE TABLE IF NOT EXISTS rows (
  ${NAMES.map((name) => `${name} TEXT NOT NULL`).join(', ')},
  ${AMOUNTS.map((amount) => `${amount} INTEGER NOT NULL`).join(', ')},
  PRIMARY KEY (${NAMES.join(', ')})) STRICT, WITHOUT ROWID`

/** Writes totals, so that a repeated write changes nothing. */
const UPSERT = `INSERT OR REPLACE INTO rows VALUES (${[...NAMES, ...AMOUNTS].map(() => '?').join(', ')})`

export interface UsageJournalOptions {
  readonly stateDir: string
  readonly book: UsageBook
  readonly clock: Clock
  /** Called when writing begins to fail, and with undefined when it succeeds again. */
  readonly onFailure: (error: Error | undefined) => void
}

/** A deadline: the caller must add it to those of the process, and close it at the end. */
export class UsageJournal implements Deadline {
  due: number
  seat = -1
  readonly #database: DatabaseSync
  readonly #upsert: StatementSync
  readonly #options: UsageJournalOptions
  readonly #changed: ChangedEntries<Row>

  /** Throws a StateError when the folder cannot be used. */
  constructor(options: UsageJournalOptions) {
    const { stateDir, book, clock } = options
    const file = { name: 'usage.sqlite', format: 1, table: TABLE, holds: 'usage' }
    this.#options = options
    this.#database = openDatabase(stateDir, file)
    this.#changed = new ChangedEntries({
      database: this.#database,
      most: ROWS_MAX,
      write: (entries) => this.#write(entries),
      onFailure: options.onFailure,
    })
    addColumns(this.#database)
    this.#upsert = this.#database.prepare(UPSERT)
    // The cast is safe, because only these statements write the table.
    const rows = this.#database.prepare('SELECT * FROM rows ORDER BY hour').all()
    book.restore(rows as unknown as Row[])
    book.changed = this.#changed.all
    this.due = clock.now() + FLUSH_MS
  }

  expire(now: number): void {
    const isWritten = this.#changed.flush()
    this.due = now + (isWritten ? FLUSH_MS : RETRY_MS)
  }

  /** Writes everything that is left, and unlocks the file. */
  close(): void {
    this.#changed.flushAll()
    this.#database.close()
  }

  #write(rows: readonly Row[]): void {
    for (const row of rows)
      this.#upsert.run(...NAMES.map((name) => row[name]), ...AMOUNTS.map((name) => row[name]))
    const { since } = this.#options.book
    // Deletes hours that the book has dropped.
    if (since !== undefined) this.#database.prepare('DELETE FROM rows WHERE hour < ?').run(since)
  }
}

/** A file of an earlier release lacks the amounts that have come since. */
function addColumns(database: DatabaseSync): void {
  const there = database.prepare('SELECT name FROM pragma_table_info(?)').all('rows')
  const names = new Set(there.map(({ name }) => name))
  for (const amount of AMOUNTS)
    if (!names.has(amount))
      database.exec(`ALTER TABLE rows ADD COLUMN ${amount} INTEGER NOT NULL DEFAULT 0`)
}
