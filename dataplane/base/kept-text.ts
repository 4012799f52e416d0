/**
 * Bounds the stored part of one streamed answer, so that an endless stream cannot fill the memory. Reader, guardrail
 * and writer of a stream share one counter.
 */

/** The largest answer that is kept whole; answers of models are far smaller. */
export const ANSWER_BYTES_MAX = 33_554_432

/** The memory of a piece beside its text, so that empty pieces count too. */
export const PIECE_BYTES = 64
/** The memory of an object with its place in a table: a call, a choice, an item of an output. */
export const ENTRY_BYTES = 1_024
const MIB = 1_048_576

/** `message` is for the client. */
export class AnswerTooLarge extends Error {
  constructor(bytesMax: number) {
    const size = bytesMax < MIB ? `${bytesMax} bytes` : `${Math.floor(bytesMax / MIB)} MiB`
    super(`The answer is larger than ${size}.`)
  }
}

/**
 * Counts the stored part of one answer. Text that was already sent counts as well, because it is part of the answer.
 */
export class KeptText {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax = ANSWER_BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  /** More of a text. Throws AnswerTooLarge. */
  keep(piece: string): void {
    this.#add(piece.length + PIECE_BYTES)
  }

  /** An object that holds these texts. Throws AnswerTooLarge. */
  keepEntry(...texts: readonly string[]): void {
    this.#add(ENTRY_BYTES)
    for (const text of texts) this.#add(text.length)
  }

  #add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#bytesMax) throw new AnswerTooLarge(this.#bytesMax)
  }
}
