/** Files of SQLite in `state_dir`: locked, readable only by their owner, and checked for damage at the start. */
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/**
 * The operating system holds the exclusive lock and releases it when the process ends in any way. With a write-ahead
 * log each commit survives kill -9; a power cut may lose the last commits, never the file.
 */
const SETTINGS = 'PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL'

/** The state cannot be stored; `message` explains why and what to do. */
export class StateError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'StateError'
  }
}

export interface DatabaseFile {
  readonly name: string
  readonly format: number
  /** The statement that makes its table. */
  readonly table: string
  /** The contents, for messages. */
  readonly holds: string
}

/** Throws a StateError that names the folder. */
export function openDatabase(folder: string, file: DatabaseFile): DatabaseSync {
  const path = join(folder, file.name)
  let database: DatabaseSync | undefined
  try {
    makeFolder(folder)
    closeToOthers(path)
    database = new DatabaseSync(path)
    database.exec(SETTINGS)
    prepare(database, file)
    return database
  } catch (error) {
    database?.close()
    throw explained(error, { folder, path, holds: file.holds })
  }
}

/** Not with `recursive`, which never ends on a file system that denies an existing parent, as /proc does. */
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
    // A file of another user keeps its mode.
    if (found?.isFile() && found.uid === process.getuid?.()) chmodSync(file, 0o600)
  }
}

/** Writes at the start, so that a read-only file fails now and not at the first budget. */
function prepare(database: DatabaseSync, { format: own, table }: DatabaseFile): void {
  const { quick_check: health } = database.prepare('PRAGMA quick_check(1)').get() ?? {}
  if (health !== 'ok') throw Object.assign(new Error(String(health)), { errcode: CORRUPT })
  const { user_version: format } = database.prepare('PRAGMA user_version').get() ?? {}
  if (Number(format) > own) {
    throw Object.assign(new Error(`format ${format}`), { errcode: NEWER })
  }
  database.exec(`BEGIN IMMEDIATE; ${table}; PRAGMA user_version = ${own}; COMMIT`)
}

/** Result codes of SQLite, and one of the gateway. */
const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26
const NEWER = -1

interface DatabaseLocation {
  readonly folder: string
  readonly path: string
  readonly holds: string
}

function explained(error: unknown, { folder, path, holds }: DatabaseLocation): StateError {
  // SQLite's errors carry a result code, those of the file system do not.
  const { errcode, message: text } = error as Error & { errcode?: number }
  const message = text.replaceAll(/\s+/g, ' ')
  const kind = errcode === undefined ? undefined : errcode & 0xff
  if (errcode === NEWER) {
    const advice = `start that version again, or move the file away to begin with empty ${holds}`
    return new StateError(`${path} was written by a newer gateway (${message}); ${advice}`, error)
  }
  if (kind === BUSY) {
    const advice = 'stop that one, or give each gateway its own state_dir'
    return new StateError(`state_dir ${folder} is in use by another gateway; ${advice}`, error)
  }
  if (kind === CORRUPT || kind === NOT_A_DATABASE) {
    const advice = `restore it, or move it away to begin with empty ${holds}`
    return new StateError(`${path} is damaged (${message}); ${advice}`, error)
  }
  const advice = 'give a folder that this user may write and that has room'
  return new StateError(`state_dir ${folder} cannot be written (${message}); ${advice}`, error)
}
