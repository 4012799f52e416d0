/**
 * Estimates the tokens of a text by the units of tokenizers: words, numbers, punctuation, and characters that are
 * tokens themselves. It reads UTF-8 bytes, in JSON form or without escapes.
 */

/** Most words up to this length are one token; a longer word is split. */
const WORD_LETTERS = 8
const LETTERS_PER_TOKEN = 4
const DIGITS_PER_TOKEN = 3
/** A few punctuation marks are often one token, such as the end of a string in JSON; long rows are like random text. */
const MARKS_PER_TOKEN = 2
const MARKS_FEW = 4

/** Bytes that form runs: after small letters, a capital starts another word. */
const NONE = 0
const SMALL = 1
const CAPITAL = 2
const DIGIT = 3
const MARK = 4
const SPACE = 5
const LINE = 6
/** A byte that forms no run: it starts a character, or continues one. */
const CHARACTER = 7
const ESCAPE = 8

const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => kindOf(byte))
const CHARACTERS = Float64Array.from({ length: 256 }, (_, byte) => weightOfLead(byte))

function kindOf(byte: number): number {
  if (byte >= 0x80) return CHARACTER
  const character = String.fromCharCode(byte)
  if (/[a-z]/.test(character)) return SMALL
  if (/[A-Z]/.test(character)) return CAPITAL
  if (/\d/.test(character)) return DIGIT
  if (/[\n\r]/.test(character)) return LINE
  if (byte <= 0x20) return SPACE
  return character === '\\' ? ESCAPE : MARK
}

/** Tokens per character by its first byte: letters of Europe, of South Asia, of East Asia, and emoji. */
function weightOfLead(byte: number): number {
  if (byte < 0xc0) return 0
  if (byte < 0xd8) return 0.5
  if (byte < 0xe0) return 0.7
  if (byte < 0xe2) return 0.9
  return byte < 0xf0 ? 1 : 2.5
}

/** test/bench/micro/weight.ts measures it. */
export function weightOf(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let weight = 0
  let kind = NONE
  let run = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    let next = KINDS[byte] as number
    if (next === ESCAPE) {
      at++
      next = kindOfEscape(bytes[at])
      if (next === CHARACTER) {
        weight += weightOfNumber(bytes, at)
        at += 4
      }
    }
    if (next === kind) {
      run++
    } else if (kind === CAPITAL && next === SMALL && run === 1) {
      kind = SMALL
      run = 2
    } else {
      if (run > 0) weight += weightOfRun(kind, run, next)
      if (next === CHARACTER) {
        weight += CHARACTERS[byte] as number
        kind = NONE
        run = 0
      } else {
        kind = next
        run = 1
      }
    }
  }
  return run > 0 ? weight + weightOfRun(kind, run, NONE) : weight
}

function kindOfEscape(escaped: number | undefined): number {
  if (escaped === 0x75) return CHARACTER
  if (escaped === 0x6e || escaped === 0x72) return LINE
  return escaped === 0x74 ? SPACE : MARK
}

/** A character as its number, `\u4e2d`; `at` is the position of the u. */
function weightOfNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at + 1] !== 0x30) return 1
  return (bytes[at + 2] ?? 0) > 0x34 ? 0.7 : 0.5
}

function weightOfRun(kind: number, length: number, next: number): number {
  if (kind <= CAPITAL) return length <= WORD_LETTERS ? 1 : length / LETTERS_PER_TOKEN
  if (kind === DIGIT) return Math.ceil(length / DIGITS_PER_TOKEN)
  if (kind === MARK) return Math.ceil(length / (length > MARKS_FEW ? 1 : MARKS_PER_TOKEN))
  if (kind === LINE) return 1
  // One space belongs to the word after it, but not to a number.
  return length > 1 || next === DIGIT ? 1 : 0
}
