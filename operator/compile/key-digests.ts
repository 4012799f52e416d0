/** The hash that compares sets of keys; each record is digested once, not whenever one of thousands changes. */
import {
  type KeyRecord,
  legacyHashOf,
  recordDigest,
  setHashOf,
} from '../../dataplane/delivery/signed.ts'

/** Two callers need the hash of a set: its maker and its signer. */
const hashes = new WeakMap<readonly KeyRecord[], string>()
const digests = new WeakMap<KeyRecord, string>()

/** The same as `keysHashOf`; of ten thousand records most are unchanged. */
export function digestOf(records: readonly KeyRecord[]): string {
  const known = hashes.get(records)
  if (known !== undefined) return known
  const hash = setHashOf(records.map(digestOfOne))
  hashes.set(records, hash)
  return hash
}

/** The hash that pods of releases up to 1.4 report for the same set. */
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
