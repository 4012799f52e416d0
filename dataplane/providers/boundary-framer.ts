/** Splits a stream of bytes into frames. Chunks may end anywhere in a frame. */
import type { Framer } from '../wire/provider.ts'

/** A larger frame is passed on in pieces without being read, unless the framing sets another bound. */
export const EVENT_BYTES_MAX = 1_048_576

const EMPTY = Buffer.alloc(0)

/** Index after the last frame end at or after `from`; 0 if there is no end. */
type LastBoundary = (bytes: Buffer, from: number) => number

/** The result does not depend on the chunks. What `push` returns, joined with `rest`, is exactly the input. */
export class BoundaryFramer implements Framer {
  readonly #lastBoundary: LastBoundary
  readonly #bytesMax: number
  /** The start of an unfinished event, with spare room after it. */
  #kept: Buffer = EMPTY
  #length = 0
  /** Whether this class allocated `#kept`; otherwise it is a received chunk, which must not be changed. */
  #isOwn = false

  constructor(lastBoundary: LastBoundary, bytesMax = EVENT_BYTES_MAX) {
    this.#lastBoundary = lastBoundary
    this.#bytesMax = bytesMax
  }

  /** Returns the complete events in this chunk, with the tail of earlier chunks; undefined if no event is complete. */
  push(chunk: Buffer): Buffer | undefined {
    const earlier = this.#length
    const bytes = earlier === 0 ? chunk : this.#append(chunk)
    // The boundary may start in the tail, so the last bytes of the tail are searched again.
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

  /** The rest after the upstream has ended: an event without its blank line, or nothing. */
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

  /** Events may arrive byte by byte, so the room doubles when it is full. Nothing is copied for each piece. */
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
