/** Bytes that come in pieces of any size and are wanted as one, without an object for every byte. */

/** Larger pieces stay as they are; smaller ones are copied behind each other. */
const OWN_PIECE_BYTES_MIN = 4_096
const PAGE_BYTES = 16_384

export class Gathering {
  /** Bytes so far. */
  length = 0
  #pieces: Buffer[] = []
  #page: Buffer = NOTHING
  #used = 0

  add(piece: Buffer): void {
    this.length += piece.length
    // A piece that is the whole is not copied at all.
    if (piece.length >= OWN_PIECE_BYTES_MIN || this.length === piece.length) {
      this.#turn()
      this.#pieces.push(piece)
      return
    }
    if (this.#page.length - this.#used < piece.length) {
      this.#turn()
      this.#page = Buffer.allocUnsafeSlow(PAGE_BYTES)
    }
    this.#used += piece.copy(this.#page, this.#used)
  }

  /** All of it, once; then it is empty. */
  take(): Buffer {
    this.#turn()
    const [first = NOTHING, ...others] = this.#pieces
    const whole = others.length === 0 ? first : Buffer.concat(this.#pieces, this.length)
    this.#pieces = []
    this.#page = NOTHING
    this.length = 0
    return whole
  }

  /** All of it, which stays. */
  peek(): Buffer {
    const whole = this.take()
    this.add(whole)
    return whole
  }

  /** The filled part of the page becomes a piece; the rest of the page is filled next. */
  #turn(): void {
    if (this.#used === 0) return
    this.#pieces.push(this.#page.subarray(0, this.#used))
    this.#page = this.#page.subarray(this.#used)
    this.#used = 0
  }
}

const NOTHING = Buffer.alloc(0)
