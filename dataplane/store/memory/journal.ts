/** The file in `state_dir` that outlives the process: one row for each tenant and window. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { windowOfKey } from '../../accounts/period.ts'
import { dayOf, monthOf, type Window } from '../../accounts/windows.ts'
import { openDatabase } from './database.ts'
import { Ledger } from './ledger.ts'

export const FILE_NAME = 'budgets.sqlite'

const FORMAT = 1

const DAY_MS = 86_400_000

const TABLE = `CREATE TABLE IF NOT EXISTS windows (
  tenant TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, used INTEGER NOT NULL, alerted TEXT NOT NULL,
  PRIMARY KEY (tenant, kind, key)) STRICT, WITHOUT ROWID`

const UPSERT = `INSERT INTO windows VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET used = excluded.used, alerted = excluded.alerted`

export class Journal {
  readonly #database: DatabaseSync
  readonly #upsert: StatementSync

  private constructor(database: DatabaseSync) {
    this.#database = database
    this.#upsert = database.prepare(UPSERT)
  }

  /** Throws a StateError that names the folder. */
  static open(folder: string): Journal {
    const file = { name: FILE_NAME, format: FORMAT, table: TABLE, holds: 'budgets' }
    return new Journal(openDatabase(folder, file))
  }

  /** The usage in the present windows and those just before, by tenant; older ones are deleted. */
  load(wallMs: number): Map<string, Ledger[]> {
    this.prune(wallMs)
    const ledgers = new Map<string, Ledger[]>()
    const rows = this.#database.prepare('SELECT * FROM windows ORDER BY key DESC').all()
    for (const { tenant, kind, key, used, alerted } of rows) {
      const ledger = new Ledger(String(tenant), windowWith(String(kind), String(key)))
      ledger.charge(Number(used))
      ledger.alerted = numbersIn(String(alerted))
      ledgers.set(ledger.tenant, [...(ledgers.get(ledger.tenant) ?? []), ledger])
    }
    return ledgers
  }

  /** Writes all ledgers, or none. */
  write(ledgers: Iterable<Ledger>): void {
    this.#database.exec('BEGIN')
    try {
      for (const { tenant, window, used, alerted } of ledgers) {
        this.#upsert.run(tenant, window.kind, window.key, used, alerted.join(' '))
      }
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  prune(wallMs: number): void {
    const day = before(dayOf(wallMs), dayOf)
    const month = before(monthOf(wallMs), monthOf)
    this.#database
      .prepare(
        `DELETE FROM windows WHERE (kind = 'day' AND key < ?) OR (kind = 'month' AND key < ?)`,
      )
      .run(day.key, month.key)
    // A request may still end in the window of a limit that has just ended.
    const ended = `CAST(substr(key, instr(key, '-') + 1) AS INTEGER) < ?`
    this.#database
      .prepare(`DELETE FROM windows WHERE key GLOB '[tu][0-9]*' AND ${ended}`)
      .run(wallMs - DAY_MS)
  }

  close(): void {
    this.#database.close()
  }
}

/** The windows of limits say in their keys when they begin and end. */
function windowWith(kind: string, key: string): Window {
  const startsAt = Date.parse(key)
  return windowOfKey(key) ?? (kind === 'day' ? dayOf(startsAt) : monthOf(startsAt))
}

function before(window: Window, windowOf: (wallMs: number) => Window): Window {
  return windowOf(window.startsAt - 1)
}

function numbersIn(text: string): number[] {
  return text === '' ? [] : text.split(' ').map(Number)
}
