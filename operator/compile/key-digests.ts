/** What a set of keys is compared by; each record is digested once, not each time one of thousands changes. */
import {
  type KeyRecord,
  legacyHashOf,
  recordDigest,
  setHashOf,
} from '../../dataplane/delivery/signed.ts'

/** A set is asked for its hash where it is made and where it is signed. */
const hashes = new WeakMap<readonly KeyRecord[], string>()
const digests = new WeakMap<KeyRecord, string>()

/** The same as `keysHashOf`; of ten thousand records most were there before. */
export function digestOf(records: readonly KeyRecord[]): string {
  const known = hashes.get(records)
  if (known !== undefined) return known
  const hash = setHashOf(records.map(digestOfOne))
  hashes.set(records, hash)
  return hash
}

/** What pods of releases up to 1.4 say of the same set. */
export function legacyDigestOf(records: readonly KeyRecord[]): string {
  return legacyHashOf(records.map(digestOfOne))
}

export function digestOfOne(record: KeyRecord): string {
  const known = digests.get(record)
  if (known !== undefined) return known
  const digest = recordDigest(record)
  digests.set(record, digest)
  return digest
}
