/** How much of one answer may be kept while it streams: an upstream that never ends must not fill the memory. */

/** The largest answer that is kept whole; no answer of a model is near it. */
export const ANSWER_BYTES_MAX = 33_554_432

/** The memory of a piece beside its text, so that empty pieces count too. */
const PIECE_BYTES = 64
const MIB = 1_048_576

/** `message` is for the client. */
export class AnswerTooLarge extends Error {
  constructor(bytesMax: number) {
    const size = bytesMax < MIB ? `${bytesMax} bytes` : `${Math.floor(bytesMax / MIB)} MiB`
    super(`The answer is larger than ${size}.`)
  }
}

/** Counts the text kept of one answer. Text that has been sent meanwhile counts as well: it is part of the answer too. */
export class KeptText {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax = ANSWER_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** Throws AnswerTooLarge. */
  keep(piece: string): void {
    this.#bytes += piece.length + PIECE_BYTES
    if (this.#bytes > this.#bytesMax) throw new AnswerTooLarge(this.#bytesMax)
  }
}
