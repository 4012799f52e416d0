/** Scans the text of a body in parts, because one scan of megabytes would delay other requests. */
import { isAscii, isUtf8 } from 'node:buffer'

const PART_BYTES = 262_144
/** Searching for this sequence in a text full of backslashes is slow. */
const UNICODE_ESCAPE = Buffer.from('\\u')

type WorkInParts<T> = Generator<undefined, T>

export function* isUtf8InParts(bytes: Buffer): WorkInParts<boolean> {
  for (let from = 0; from < bytes.length; ) {
    const to = characterStart(bytes, from + PART_BYTES)
    if (to <= from || !isUtf8(bytes.subarray(from, to))) return false
    from = to
    yield
  }
  return true
}

/** Whether all characters are ASCII, including escaped ones. */
export function* isSparseInParts(bytes: Buffer): WorkInParts<boolean> {
  for (let from = 0; from < bytes.length; from += PART_BYTES) {
    // An escape may span two parts.
    const part = bytes.subarray(from, from + PART_BYTES + UNICODE_ESCAPE.length - 1)
    if (!isAscii(part) || part.includes(UNICODE_ESCAPE)) return false
    yield
  }
  return true
}

/** The last position up to `at` where a character begins; a character has at most four bytes. */
function characterStart(bytes: Buffer, at: number): number {
  if (at >= bytes.length) return bytes.length
  let start = at
  while (start > at - 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--
  return start
}
