/** The bytes of a body that comes in pieces: however small they are, they take little more memory than one that is whole. */
import { giveBack } from '../base/spent-bytes.ts'

/** Pages grow with what has come, so that their unused rest never outweighs it. */
const PAGE_BYTES_MIN = 4_096
const PAGE_BYTES_MAX = 65_536

export class Gathered {
  /** Bytes so far. */
  length = 0
  readonly #expected: number | undefined
  #full: Buffer[] = []
  /** Being filled; of a body whose length is known the whole of it, once half has come. */
  #page: Buffer = NOTHING
  #used = 0

  /** `expected`: what the head says, which may be a lie. */
  constructor(expected: number | undefined) {
    this.#expected = expected
  }

  add(piece: Buffer): void {
    if (this.length === 0 && piece.length === this.#expected) {
      this.#page = piece
      this.#used = piece.length
      this.length = piece.length
      return
    }
    let from = 0
    while (from < piece.length) {
      if (this.#used === this.#page.length) this.#turn(piece.length - from)
      const taken = piece.copy(this.#page, this.#used, from)
      this.#used += taken
      this.length += taken
      from += taken
    }
  }

  /** All of it in one; nothing may be added afterwards. */
  whole(): Buffer {
    const last = this.#page.subarray(0, this.#used)
    const whole = this.#full.length === 0 ? last : Buffer.concat([...this.#full, last], this.length)
    for (const page of this.#full) giveBack(page)
    this.#full = []
    this.#page = NOTHING
    return whole
  }

  /** `coming`: bytes that are at hand. */
  #turn(coming: number): void {
    if (this.#used > 0) this.#full.push(this.#page)
    this.#used = 0
    const { length } = this
    const left = (this.#expected ?? Number.POSITIVE_INFINITY) - length
    if (length > PAGE_BYTES_MAX && left > 0 && left <= length) {
      this.#gather(length + left)
      return
    }
    const wanted = Math.min(PAGE_BYTES_MAX, Math.max(PAGE_BYTES_MIN, length, coming))
    this.#page = Buffer.allocUnsafeSlow(left > 0 ? Math.min(wanted, left) : wanted)
  }

  #gather(bytes: number): void {
    const page = Buffer.allocUnsafeSlow(bytes)
    for (const full of this.#full) {
      this.#used += full.copy(page, this.#used)
      giveBack(full)
    }
    this.#full = []
    this.#page = page
  }
}

const NOTHING = Buffer.alloc(0)
