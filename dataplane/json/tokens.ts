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

/** Whether an odd number of backslashes, none of them before `from`, stands directly before a place. */
export function isEscaped(bytes: Buffer, from: number, at: number): boolean {
  let first = at
  while (first > from && bytes[first - 1] === BACKSLASH) first--
  return (at - first) % 2 === 1
}

/** A string with an escaped quote mostly has the next one within as many characters. */
const NEAR = 32

/** Where the string ends whose opening quote or first escape stands at `from`; -1: nowhere, and no parser gets further. */
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
