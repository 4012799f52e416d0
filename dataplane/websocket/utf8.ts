/** Whether a text in pieces is UTF-8; a piece may end inside a character. */
import { isUtf8 } from 'node:buffer'

const NOTHING = Buffer.alloc(0)

export class Utf8Check {
  /** The beginning of a character. */
  #begun = NOTHING

  /** Whether the text so far can still become UTF-8. */
  takes(piece: Buffer): boolean {
    const bytes = this.#begun.length === 0 ? piece : Buffer.concat([this.#begun, piece])
    const end = bytes.length - unfinished(bytes)
    this.#begun = end === bytes.length ? NOTHING : Buffer.from(bytes.subarray(end))
    return isUtf8(bytes.subarray(0, end))
  }

  /** Whether the text may end here; the next piece begins another text. */
  ends(): boolean {
    const isWhole = this.#begun.length === 0
    this.#begun = NOTHING
    return isWhole
  }
}

/** The number of bytes at the end that begin a longer character. */
function unfinished(bytes: Buffer): number {
  for (let count = 1; count <= 3 && count <= bytes.length; count++) {
    const byte = bytes[bytes.length - count] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > count ? count : 0
  }
  return 0
}
