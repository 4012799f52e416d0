/** Bounds the cost of parsing a JSON text before the parser starts, because a parser cannot be interrupted. */

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  closingQuote,
  closingQuoteIn,
  isEscaped,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './tokens.ts'

/** Deeper than any answer; a parser follows any depth. */
const DEPTH_MAX = 64
/** More than the probabilities of 6,000 tokens with 20 alternatives each. */
const VALUES_MAX = 1_048_576
/** The values that each of many vectors may add. */
const VECTOR_VALUES_MAX = 2_048
/** A text of this length cannot contain many values. */
const FREE_LENGTH = 16_384

/** The most values that an answer with this many vectors may hold. */
export function valuesMaxOf(vectors: number): number {
  return Math.max(VALUES_MAX, vectors * VECTOR_VALUES_MAX)
}

/** Whether nesting and number of values are bounded; for a text that is not JSON, either. Linear, and ends at the bound. */
export function isWithinBounds(text: string, valuesMax = VALUES_MAX): boolean {
  if (text.length <= FREE_LENGTH) return true
  let [depth, values] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = closingQuote(text, at)
      if (at === -1) return true
    } else if (code === COMMA) {
      if (++values > valuesMax) return false
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++values > valuesMax || ++depth > DEPTH_MAX) return false
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--
  }
  return true
}

/** The same bounds, for bytes as they arrive. */
export class Bounds {
  #depth = 0
  #values = 0
  #isString = false
  /** The next byte is escaped. */
  #isEscaped = false
  readonly #valuesMax: number

  constructor(valuesMax = VALUES_MAX) {
    this.#valuesMax = valuesMax
  }

  /** Checks further bytes; false if they exceed the bounds. */
  holds(bytes: Buffer): boolean {
    let at = this.#isString ? this.#stringEnd(bytes, 0) : 0
    let [depth, values] = [this.#depth, this.#values]
    for (; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) at = this.#stringEnd(bytes, at + 1) - 1
      else if (byte === COMMA) values++
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        values++
        if (++depth > DEPTH_MAX) return false
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--
    }
    this.#depth = depth
    this.#values = values
    return values <= this.#valuesMax
  }

  /** After the closing quote, or after all bytes if it has not arrived. */
  #stringEnd(bytes: Buffer, from: number): number {
    this.#isString = true
    const first = from + (this.#isEscaped ? 1 : 0)
    this.#isEscaped = false
    const quote = closingQuoteIn(bytes, first)
    if (quote < 0) {
      this.#isEscaped = isEscaped(bytes, first, bytes.length)
      return bytes.length
    }
    this.#isString = false
    return quote + 1
  }
}
