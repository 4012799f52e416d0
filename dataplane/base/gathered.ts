/** Gathers bytes in pieces of any size into one buffer, with little more memory than the bytes. */
import { giveBack } from './spent-bytes.ts'

/** Pages grow with the bytes so far, so that their unused rest never outweighs them. */
const PAGE_BYTES_MIN = 4_096
const PAGE_BYTES_MAX = 65_536
/** Pieces of this size need not be copied. */
const KEPT_BYTES_MIN = 4_096

interface GatheredOptions {
  /** The Content-Length of the head, which may be wrong. */
  readonly expected?: number | undefined
  /** Whether this object may free the memory of the pieces. */
  readonly ownsPieces?: boolean
}

export class Gathered {
  /** Bytes so far. */
  length = 0
  readonly #expected: number
  readonly #ownsPieces: boolean
  #pieces: Buffer[] = []
  /**
   * The page that is being filled. If the total is known, one page takes the rest after half of the bytes have arrived.
   */
  #page: Buffer = NOTHING
  #used = 0

  constructor({ expected = Number.POSITIVE_INFINITY, ownsPieces = false }: GatheredOptions) {
    this.#expected = expected
    this.#ownsPieces = ownsPieces
  }

  add(piece: Buffer): void {
    if (this.#keeps(piece)) {
      this.#turn()
      this.#pieces.push(piece)
      this.length += piece.length
      return
    }
    let from = 0
    while (from < piece.length) {
      if (this.#used === this.#page.length) this.#openPage(piece.length - from)
      const taken = piece.copy(this.#page, this.#used, from)
      this.#used += taken
      this.length += taken
      from += taken
    }
  }

  /** Returns all bytes in one buffer, and empties this object. */
  take(): Buffer {
    this.#turn()
    const [first = NOTHING, ...others] = this.#pieces
    const whole = others.length === 0 ? first : Buffer.concat(this.#pieces, this.length)
    if (others.length > 0) this.#drop()
    this.#pieces = []
    this.#page = NOTHING
    this.length = 0
    return whole
  }

  #keeps(piece: Buffer): boolean {
    if (this.length === 0 && piece.length === this.#expected) return true
    return this.#ownsPieces && (this.length === 0 || piece.length >= KEPT_BYTES_MIN)
  }

  /** The filled part of the page becomes a piece; more bytes go into its rest. */
  #turn(): void {
    if (this.#used === 0) return
    this.#pieces.push(this.#page.subarray(0, this.#used))
    this.#page = this.#page.subarray(this.#used)
    this.#used = 0
  }

  /** `coming`: bytes that are available now. */
  #openPage(coming: number): void {
    this.#turn()
    const { length } = this
    const left = this.#expected - length
    if (length > PAGE_BYTES_MAX && left > 0 && left <= length) {
      this.#gather(length + left)
      return
    }
    const wanted = Math.min(PAGE_BYTES_MAX, Math.max(PAGE_BYTES_MIN, length, coming))
    this.#page = Buffer.allocUnsafeSlow(left > 0 ? Math.min(wanted, left) : wanted)
  }

  #gather(bytes: number): void {
    const page = Buffer.allocUnsafeSlow(bytes)
    for (const piece of this.#pieces) this.#used += piece.copy(page, this.#used)
    this.#drop()
    this.#page = page
  }

  /** Frees copied pieces; pieces of other owners may still be in use. */
  #drop(): void {
    if (!this.#ownsPieces) for (const piece of this.#pieces) giveBack(piece)
    this.#pieces = []
  }
}

const NOTHING = Buffer.alloc(0)
