/** What a set of keys is compared by; each record is digested once, not each time one of thousands changes. */
import { type KeyRecord, recordDigest, showDigest } from '../dataplane/config/signed.ts'

const digests = new WeakMap<KeyRecord, bigint>()

/** The same as `keysHashOf`; of ten thousand records most were there before. */
export function digestOf(records: readonly KeyRecord[]): string {
  let sum = 0n
  for (const record of records) sum ^= digestOfOne(record)
  return showDigest(sum)
}

export function digestOfOne(record: KeyRecord): bigint {
  const known = digests.get(record)
  if (known !== undefined) return known
  const digest = recordDigest(record)
  digests.set(record, digest)
  return digest
}
