/**
 * Numbers that keep their text. A double prints 1234567890123456789 as 1234567890123456800, `1.0` as `1`, `-0` as `0`
 * and `1e400` as null. The gateway must not change arguments of tools and schemas, so such a number becomes a
 * NumberText there, which JSON.stringify writes unchanged; everywhere else numbers are numbers. The scan of a body
 * notes whether it has such a number, and few events of a stream are searched, so other texts cost no more
 * (test/bench/micro/number-texts.ts).
 */

export class NumberText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    // TypeScript does not declare it yet.
    return (JSON as JSON & { rawJSON(text: string): unknown }).rawJSON(this.text)
  }

  toString(): string {
    return this.text
  }
}

/** Members whose objects are the user's: arguments of calls, by the names of all wires, and schemas. */
const HOLDERS: ReadonlySet<string> = new Set([
  ...['args', 'arguments', 'input'],
  ...['guided_json', 'input_schema', 'json', 'json_schema', 'parameters', 'schema'],
])
/** A text without any of the names, and without a name in escapes, has no such member. */
const NAMED = new RegExp(`"(?:${[...HOLDERS].join('|')})"|\\\\u00`)
/** A number in JSON that a double may print in another way. In a text the match may be a false alarm. */
const ODD = /(?:^|[:[,])\s*(-0|-?\d+[.eE][\d.eE+-]*|-?\d{16,})(?=\s*(?:$|[,\]}]))/g

/** Whether a double prints this number differently. */
function isOdd(text: string): boolean {
  return String(Number(text)) !== text
}

const DOT = 0x2e
const MINUS = 0x2d
const ZERO = 0x30
/** Numbers of this many digits print unchanged, without zeros at the end of a fraction. */
const SAFE_DIGITS = 15
/** A fraction with this many leading zeros may be printed with an exponent. */
const ZEROS = 6

/** Whether `isOddAt` must check the byte: digits, dots and exponents. */
export function mayBeOdd(byte: number | undefined): boolean {
  return byte === DOT || isDigit(byte) || byte === 0x65 || byte === 0x45
}

/** Whether the byte, which is outside of strings, shows that its number may be odd: the number is then read again. */
export function isOddAt(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]
  if (byte === DOT) return isAll(bytes, at + 1, at + 1 + ZEROS, isZero)
  const before = bytes[at - 1]
  if (!isDigit(byte)) return isDigit(before) && (byte === 0x65 || byte === 0x45)
  if (byte === ZERO && !isDigit(bytes[at + 1])) {
    if (before === MINUS) return bytes[at + 1] !== DOT
    if (isFraction(bytes, at)) return true
  }
  return isPart(bytes[at - SAFE_DIGITS]) && isAll(bytes, at - SAFE_DIGITS, at, isPart)
}

function isAll(
  bytes: Buffer,
  from: number,
  to: number,
  is: (byte: number | undefined) => boolean,
): boolean {
  for (let at = from; at < to; at++) if (!is(bytes[at])) return false
  return true
}

/** Whether a dot comes before the digits that end there. Numbers with too many digits are odd anyway. */
function isFraction(bytes: Buffer, end: number): boolean {
  let at = end - 1
  while (at > end - SAFE_DIGITS && isDigit(bytes[at])) at--
  return bytes[at] === DOT
}

function isZero(byte: number | undefined): boolean {
  return byte === ZERO
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39
}

function isPart(byte: number | undefined): boolean {
  return byte === DOT || isDigit(byte)
}

/** Whether a member of this name holds a value of the user. */
export function holds(name: string): boolean {
  return HOLDERS.has(name)
}

/** Whether valid JSON may have a number to keep. `isHeld`: the user wrote all of it. */
export function mayHaveTexts(json: string, isHeld: boolean): boolean {
  if (!isHeld && !NAMED.test(json)) return false
  ODD.lastIndex = 0
  for (let found = ODD.exec(json); found !== null; found = ODD.exec(json))
    if (isOdd(found[1] ?? '')) return true
  return false
}

/** For JSON.parse: odd numbers keep their text. */
export function keepText(_name: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && isOdd(source)
    ? new NumberText(source)
    : value
}

/** The value with plain numbers except in the user's parts. A stack of calls could overflow. */
export function withPlainNumbers(value: unknown): unknown {
  if (value instanceof NumberText) return Number(value.text)
  const waiting = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    const isList = Array.isArray(next)
    for (const [name, below] of Object.entries(next)) {
      // The object owns the member, even one with the name `__proto__`.
      if (below instanceof NumberText) Reflect.set(next, name, Number(below.text))
      else if (isList || Array.isArray(below) || !holds(name)) waiting.push(below)
    }
  }
  return value
}
