/** Cuts a stream of bytes behind what ends its frames: whole frames out of chunks cut anywhere. */
import type { Framer } from '../wire/provider.ts'

/** A frame larger than this is passed on in pieces and not read, unless the framing says otherwise. */
export const EVENT_BYTES_MAX = 1_048_576

const EMPTY = Buffer.alloc(0)

/** Index behind the last end of a frame at or after `from`; 0 without one. */
type LastBoundary = (bytes: Buffer, from: number) => number

/** Indifferent to how the bytes arrive. What `push` returns, joined with `rest`, is exactly what went in. */
export class BoundaryFramer implements Framer {
  readonly #lastBoundary: LastBoundary
  readonly #bytesMax: number
  /** The beginning of an event that has not ended, and room behind it for more. */
  #kept: Buffer = EMPTY
  #length = 0
  /** Whether `#kept` was made here; else it is a chunk, which must not be written into. */
  #isOwn = false

  constructor(lastBoundary: LastBoundary, bytesMax = EVENT_BYTES_MAX) {
    this.#lastBoundary = lastBoundary
    this.#bytesMax = bytesMax
  }

  /** The whole events that end in this chunk, with the tail kept from earlier ones; undefined if none ends. */
  push(chunk: Buffer): Buffer | undefined {
    const earlier = this.#length
    const bytes = earlier === 0 ? chunk : this.#append(chunk)
    // The boundary may begin in the tail, so a little of it is searched again.
    const cut = this.#lastBoundary(bytes, Math.max(0, earlier - 3))
    if (cut === 0 && bytes.length <= this.#bytesMax) {
      if (earlier === 0) this.#keep(bytes)
      return undefined
    }
    if (cut === 0 || cut === bytes.length) {
      this.#keep(EMPTY)
      return bytes
    }
    this.#keep(bytes.subarray(cut))
    return bytes.subarray(0, cut)
  }

  /** The rest when the upstream has ended: an event without its blank line, or nothing. */
  rest(): Buffer {
    const left = this.#kept.subarray(0, this.#length)
    this.#keep(EMPTY)
    return left
  }

  #keep(bytes: Buffer): void {
    this.#kept = bytes
    this.#length = bytes.length
    this.#isOwn = false
  }

  /** An event may come byte by byte: it moves to twice the room when the room is used up, not with every piece. */
  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length
    if (!this.#isOwn || length > this.#kept.length) {
      const roomier = Buffer.allocUnsafe(2 * length)
      this.#kept.copy(roomier, 0, 0, this.#length)
      this.#kept = roomier
      this.#isOwn = true
    }
    chunk.copy(this.#kept, this.#length)
    this.#length = length
    return this.#kept.subarray(0, length)
  }
}
