/** The file in `state_dir` that outlives the process: one row for each tenant and window. */
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { dayOf, monthOf, type Window } from '../../budgets/windows.ts'
import { Ledger } from './ledger.ts'

export const FILE_NAME = 'budgets.sqlite'

const FORMAT = 1

/**
 * The exclusive lock is the operating system's, so that it goes with the process that held it, however that ended. With a
 * write-ahead log each commit survives kill -9; a power cut may take the last ones, never the file.
 */
const SETTINGS = 'PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL'

const TABLE = `CREATE TABLE IF NOT EXISTS windows (
  tenant TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, used INTEGER NOT NULL, alerted TEXT NOT NULL,
  PRIMARY KEY (tenant, kind, key)) STRICT, WITHOUT ROWID`

const UPSERT = `INSERT INTO windows VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET used = excluded.used, alerted = excluded.alerted`

/** The state cannot be kept; `message` says why and what to do. */
export class StateError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'StateError'
  }
}

export class Journal {
  readonly #database: DatabaseSync
  readonly #upsert: StatementSync

  private constructor(database: DatabaseSync) {
    this.#database = database
    this.#upsert = database.prepare(UPSERT)
  }

  /** Throws a StateError that names the folder. */
  static open(folder: string): Journal {
    const path = join(folder, FILE_NAME)
    let database: DatabaseSync | undefined
    try {
      makeFolder(folder)
      closeToOthers(path)
      database = new DatabaseSync(path)
      database.exec(SETTINGS)
      prepare(database)
      return new Journal(database)
    } catch (error) {
      database?.close()
      throw explained(error, folder, path)
    }
  }

  /** The usage in the present windows and those just before, by tenant; older ones are deleted. */
  load(wallMs: number): Map<string, Ledger[]> {
    this.prune(wallMs)
    const ledgers = new Map<string, Ledger[]>()
    const rows = this.#database.prepare('SELECT * FROM windows ORDER BY key DESC').all()
    for (const { tenant, kind, key, used, alerted } of rows) {
      const startsAt = Date.parse(String(key))
      const window = kind === 'day' ? dayOf(startsAt) : monthOf(startsAt)
      const ledger = new Ledger(String(tenant), window)
      ledger.charge(Number(used))
      ledger.alerted = numbersIn(String(alerted))
      ledgers.set(ledger.tenant, [...(ledgers.get(ledger.tenant) ?? []), ledger])
    }
    return ledgers
  }

  /** All of them, or none. */
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
  }

  close(): void {
    this.#database.close()
  }
}

/** Not by `recursive`: where a file system says that a parent which is there is not, as /proc does, that never ends. */
function makeFolder(folder: string): void {
  const path = resolve(folder)
  const parent = dirname(path)
  if (existsSync(path)) return
  if (!existsSync(parent)) makeFolder(parent)
  mkdirSync(path, { mode: 0o700 })
}

/** Other users must not read the usage of tenants. SQLite gives its `-wal` and `-shm` the mode of the file itself. */
function closeToOthers(path: string): void {
  if (!existsSync(path)) writeFileSync(path, '', { mode: 0o600, flag: 'wx' })
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const found = statSync(file, { throwIfNoEntry: false })
    // A file of another user, which this one may write, keeps the mode that the other gave it.
    if (found?.isFile() && found.uid === process.getuid?.()) chmodSync(file, 0o600)
  }
}

function before(window: Window, windowOf: (wallMs: number) => Window): Window {
  return windowOf(window.startsAt - 1)
}

function numbersIn(text: string): number[] {
  return text === '' ? [] : text.split(' ').map(Number)
}

/** Writes, so that a file that can only be read is found out at the start and not at the first budget. */
function prepare(database: DatabaseSync): void {
  const { quick_check: health } = database.prepare('PRAGMA quick_check(1)').get() ?? {}
  if (health !== 'ok') throw Object.assign(new Error(String(health)), { errcode: CORRUPT })
  const { user_version: format } = database.prepare('PRAGMA user_version').get() ?? {}
  if (Number(format) > FORMAT) {
    throw Object.assign(new Error(`format ${format}`), { errcode: NEWER })
  }
  database.exec(`BEGIN IMMEDIATE; ${TABLE}; PRAGMA user_version = ${FORMAT}; COMMIT`)
}

/** Result codes of SQLite, and one of ours. */
const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26
const NEWER = -1

function explained(error: unknown, folder: string, path: string): StateError {
  // SQLite's errors carry a result code, those of the file system do not.
  const { errcode, message: text } = error as Error & { errcode?: number }
  const message = text.replaceAll(/\s+/g, ' ')
  const kind = errcode === undefined ? undefined : errcode & 0xff
  if (errcode === NEWER) {
    const advice = 'start that version again, or move the file away to begin with empty budgets'
    return new StateError(`${path} was written by a newer gateway (${message}); ${advice}`, error)
  }
  if (kind === BUSY) {
    const advice = 'stop that one, or give each gateway its own state_dir'
    return new StateError(`state_dir ${folder} is in use by another gateway; ${advice}`, error)
  }
  if (kind === CORRUPT || kind === NOT_A_DATABASE) {
    const advice = 'restore it, or move it away to begin with empty budgets'
    return new StateError(`${path} is damaged (${message}); ${advice}`, error)
  }
  const advice = 'give a folder that this user may write and that has room'
  return new StateError(`state_dir ${folder} cannot be written (${message}); ${advice}`, error)
}
