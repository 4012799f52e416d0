/** The bytes that give JSON its structure. */

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Whether an odd number of backslashes, all from `from` on, directly precedes a position. */
export function isEscaped(bytes: Buffer, from: number, at: number): boolean {
  let first = at
  while (first > from && bytes[first - 1] === BACKSLASH) first--
  return (at - first) % 2 === 1
}

/** Most strings are shorter, and in most with an escaped quote the next one is within as many characters. */
const NEAR = 32

/** The first quote from a position on, else -1. Most strings are too short for a search, which is a call. */
export function quoteFrom(bytes: Buffer, from: number): number {
  const near = Math.min(from + NEAR, bytes.length)
  for (let at = from; at < near; at++) if (bytes[at] === QUOTE) return at
  return bytes.indexOf(QUOTE, near)
}

/**
 * The end of the string whose opening quote or first escape is at `from`; -1: the string does not end, so no parser
 * accepts it.
 */
export function closingQuote(text: string, from: number): number {
  let at = from + 1
  for (;;) {
    at = text.indexOf('"', at)
    if (at === -1) return -1
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
    at++
    for (let near = at + NEAR; at < near; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) return at
      if (code !== BACKSLASH) continue
      at++
      if (text.charCodeAt(at) === QUOTE) near = at + NEAR
    }
  }
}

/**
 * The same for bytes: `from` is inside a string, and not in an escape. Does not read from `until` on. Without a quote
 * up to there it returns `~at`, where `at` is the position to continue from.
 */
export function closingQuoteIn(bytes: Buffer, from: number, until = bytes.length): number {
  const part = until < bytes.length ? bytes.subarray(0, until) : bytes
  const { length } = part
  let at = from
  while (at < length) {
    const quote = quoteFrom(part, at)
    if (quote === -1) return ~(isEscaped(part, at, length) ? length + 1 : length)
    if (!isEscaped(part, at, quote)) return quote
    at = quote + 1
    // Many quotes may follow, and each search is a call.
    for (let near = at + NEAR; at < near && at < length; at++) {
      const byte = part[at]
      if (byte === QUOTE) return at
      if (byte !== BACKSLASH) continue
      at++
      if (part[at] === QUOTE) near = at + NEAR
    }
  }
  return ~at
}
