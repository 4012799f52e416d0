/** The file in `state_dir` that outlives the process: a row for each text, each field of a hash, and each expiry. */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { ChangedEntries } from '../memory/changed-entries.ts'
import { openDatabase, StateError } from '../memory/database.ts'
import { COUNTERS_FILE } from '../state-folder.ts'
import type { LuaVm } from './vm.ts'

/** A kill loses at most the changes of this time and the 100 ms of a busy thread. */
const FLUSH_MS = 250
/** Wait before a failed write is repeated. */
const RETRY_MS = 1_000

const TABLE = `CREATE TABLE IF NOT EXISTS parts (
  key BLOB NOT NULL, part BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, part)) STRICT, WITHOUT ROWID`

/** Parts of one call at the start. */
const RESTORED_AT_ONCE = 500

/** An empty part stands for all parts of the key; without a value it is deleted. */
interface Part {
  readonly key: Buffer
  readonly part: Buffer
  readonly value: Buffer | undefined
}

export interface JournalOptions {
  readonly stateDir: string
  readonly vm: LuaVm
  /** The wall clock, in milliseconds. */
  readonly wall: () => number
  /** Called when writing begins to fail, and with undefined when it succeeds again. */
  readonly onFailure: (error: Error | undefined) => void
}

export class Journal {
  readonly #database: DatabaseSync
  readonly #vm: LuaVm
  readonly #changed: ChangedEntries<Part>
  #timer: NodeJS.Timeout | undefined

  /** Throws a StateError that names the folder. */
  constructor({ stateDir, vm, wall, onFailure }: JournalOptions) {
    const file = { name: COUNTERS_FILE, format: 1, table: TABLE, holds: 'counters' }
    this.#database = openDatabase(stateDir, file)
    this.#vm = vm
    const upsert = this.#database.prepare('INSERT OR REPLACE INTO parts VALUES (?, ?, ?)')
    const drop = this.#database.prepare('DELETE FROM parts WHERE key = ? AND part = ?')
    const dropAll = this.#database.prepare('DELETE FROM parts WHERE key = ?')
    this.#changed = new ChangedEntries({
      database: this.#database,
      // All at once, so that the file has no half of a script's changes.
      most: Number.POSITIVE_INFINITY,
      write(parts) {
        for (const { key, part, value } of parts) {
          if (part.length === 0) dropAll.run(key)
          else if (value === undefined) drop.run(key, part)
          else upsert.run(key, part, value)
        }
      },
      onFailure,
    })
    vm.call('sweep', [wall(), 0])
    try {
      this.#restore()
    } catch (error) {
      this.#database.close()
      const advice = 'restore another copy, or move it away to begin with empty counters'
      const path = join(stateDir, COUNTERS_FILE)
      throw new StateError(`${path} cannot be read (${(error as Error).message}); ${advice}`, error)
    }
    vm.call('keep', ['yes'])
    this.#schedule(FLUSH_MS)
  }

  /** Writes all changes. A part that could not be written is tried first, and nothing newer is taken meanwhile. */
  flush(): boolean {
    if (this.#changed.all.size > 0 && !this.#changed.flush()) return false
    for (const part of partsIn(this.#vm.call('drain', [])[0] ?? Buffer.alloc(0)))
      this.#changed.all.add(part)
    return this.#changed.flush()
  }

  /** Writes the rest, and unlocks the folder. */
  close(): void {
    clearTimeout(this.#timer)
    this.flush()
    this.#database.close()
  }

  #schedule(ms: number): void {
    const again = () => this.#schedule(this.flush() ? FLUSH_MS : RETRY_MS)
    this.#timer = setTimeout(again, ms).unref()
  }

  #restore(): void {
    let parts: Uint8Array[] = []
    for (const row of this.#database.prepare('SELECT key, part, value FROM parts').iterate()) {
      parts.push(row.key as Uint8Array, row.part as Uint8Array, row.value as Uint8Array)
      if (parts.length < 3 * RESTORED_AT_ONCE) continue
      this.#vm.call('restore', parts)
      parts = []
    }
    this.#vm.call('restore', parts)
  }
}

function* partsIn(changes: Buffer): Generator<Part> {
  let at = 0
  const text = () => {
    const length = changes.readUInt32LE(at)
    at += 4 + length
    return changes.subarray(at - length, at)
  }
  while (at < changes.length) {
    const [key, part] = [text(), text()]
    const isThere = changes[at++] === 1
    yield { key, part, value: isThere ? text() : undefined }
  }
}
