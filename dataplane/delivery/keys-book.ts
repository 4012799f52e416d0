/** The keys of a pod: one live map for requests, changed in place by the operator's documents. */

import { setImmediate as turn } from 'node:timers/promises'
import { type KeyEntry, KeyTable, keyOf } from '../call/key-entry.ts'
import { type PointedProblem, pointerOf } from '../config/judgement/pointer.ts'
import { isRecord } from '../json/values.ts'
import { ApiKey, SCOPES } from '../schema/keys.ts'
import { type KeyRecord, legacyHashOf, recordDigest, setHashOf } from './signed.ts'

/** This many records are read at a time; requests run in between. */
const RECORDS_AT_ONCE = 100
const LISTED_MAX = 20

interface BookedKey {
  readonly digest: string
  /** undefined: the record cannot be read, so the key does not work. */
  readonly entry: KeyEntry | undefined
}

export class KeysBook {
  /** By lower-case hex SHA-256 of the whole key: what every configuration's snapshot holds. */
  readonly entries = new KeyTable()
  readonly #known = new Map<string, BookedKey>()
  /** Until the next change. */
  #hashes: { readonly hash: string; readonly legacyHash: string } | undefined

  get size(): number {
    return this.#known.size
  }

  /** The hash of the records, as `keysHashOf` makes it. */
  get hash(): string {
    return this.#hashed().hash
  }

  /** `legacyHashOf` their digests. */
  get legacyHash(): string {
    return this.#hashed().legacyHash
  }

  /** Ten milliseconds for ten thousand keys, once a change. */
  #hashed() {
    if (this.#hashes === undefined) {
      const digests = [...this.#known.values()].map(({ digest }) => digest)
      this.#hashes = { hash: setHashOf(digests), legacyHash: legacyHashOf(digests) }
    }
    return this.#hashes
  }

  /** Takes a full copy. Nothing changes until all of it has been read. Returns the faults of single records. */
  async replace(records: readonly unknown[]): Promise<PointedProblem[]> {
    const { known, problems } = await readRecords(records, ['keys'])
    for (const id of this.#known.keys()) if (!known.has(id)) this.#remove(id)
    for (const [id, one] of known) this.#put(id, one)
    return problems
  }

  async change(put: readonly unknown[], remove: readonly string[]): Promise<PointedProblem[]> {
    const { known, problems } = await readRecords(put, ['changes', 'put'])
    for (const hash of remove) this.#remove(hash)
    for (const [id, one] of known) this.#put(id, one)
    return problems
  }

  #put(id: string, one: BookedKey): void {
    if (this.#known.get(id)?.digest === one.digest) return
    this.#remove(id)
    this.#known.set(id, one)
    this.#hashes = undefined
    if (one.entry !== undefined) this.entries.set(digitsOf(id), one.entry)
  }

  #remove(id: string): void {
    const one = this.#known.get(id)
    if (one === undefined) return
    this.#known.delete(id)
    this.#hashes = undefined
    this.entries.delete(digitsOf(id))
  }
}

async function readRecords(records: readonly unknown[], at: readonly string[]) {
  const known = new Map<string, BookedKey>()
  const problems: PointedProblem[] = []
  for (const [index, record] of records.entries()) {
    if (index > 0 && index % RECORDS_AT_ONCE === 0) await turn()
    const fault = readRecord(record, known)
    if (fault === undefined || problems.length === LISTED_MAX) continue
    const pointer = pointerOf([...at, index])
    problems.push({
      pointer,
      message: `${fault}; the key does not work`,
      fix: 'Correct the record.',
    })
  }
  return { known, problems }
}

/** Adds the record; of two with one hash the first counts. Returns its fault. */
function readRecord(record: unknown, known: Map<string, BookedKey>): string | undefined {
  if (!isRecord(record) || typeof record.hash !== 'string') return 'there is no hash'
  if (known.has(record.hash)) return 'another record has this hash'
  const scopes: readonly string[] = SCOPES
  const readable = Object.fromEntries(
    Object.entries(record)
      .filter(([name]) => Object.hasOwn(ApiKey.shape, name))
      // The operator may know scopes that this release does not have.
      .map(([name, value]) =>
        name === 'scopes' && Array.isArray(value)
          ? [name, value.filter((scope) => scopes.includes(scope))]
          : [name, value],
      ),
  )
  const parsed = ApiKey.safeParse(readable)
  let digest: string
  try {
    // Any record is hashed; its members are those of the signer's release.
    digest = recordDigest(record as unknown as KeyRecord)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  known.set(record.hash, { digest, entry: parsed.success ? keyOf(parsed.data) : undefined })
  if (parsed.success) return undefined
  const [issue] = parsed.error.issues
  return `${issue?.path.join('.')}: ${issue?.message}`
}

function digitsOf(hash: string): string {
  return hash.slice('sha256:'.length)
}
