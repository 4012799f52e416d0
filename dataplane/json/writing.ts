/** Writes JSON with texts of megabytes in steps, because one step would delay other requests. */
import { NumberText } from './numbers.ts'

/** A longer text is written in parts, and so is a value with more content. */
const PART_CHARACTERS = 65_536
/** The cost of a value in addition to its characters. */
const VALUE_CHARACTERS = 16
/** The amount written between two steps. */
const STEP_CHARACTERS = 131_072
/** The amount copied between two steps. */
const STEP_BYTES = 1_048_576

/** A value to be made and written later; one of bytes is already JSON, and is not part of another value. */
export class Later {
  readonly make: () => Generator<undefined, unknown>

  constructor(make: () => Generator<undefined, unknown>) {
    this.make = make
  }

  /** For JSON.stringify, which has no steps. */
  toJSON(): unknown {
    const made = this.make()
    let next = made.next()
    while (next.done !== true) next = made.next()
    return next.value
  }
}

/** The output of JSON.stringify for a value without methods of ours, in pages. Yields where other work may run. */
export function* writing(value: unknown): Generator<undefined, Buffer[]> {
  const pages: Buffer[] = []
  let text = ''
  for (const piece of pieces(value)) {
    if (piece === undefined) {
      yield
      continue
    }
    text += piece
    if (text.length < STEP_CHARACTERS) continue
    pages.push(Buffer.from(text))
    text = ''
    yield
  }
  pages.push(Buffer.from(text))
  return pages
}

/** The pages as one buffer. */
export function* joining(pages: readonly Buffer[]): Generator<undefined, Buffer> {
  const [first] = pages
  if (first !== undefined && pages.length === 1) return first
  const made = Buffer.allocUnsafe(pages.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const page of pages) {
    for (let from = 0; from < page.length; from += STEP_BYTES) {
      at += page.copy(made, at, from, Math.min(from + STEP_BYTES, page.length))
      yield
    }
  }
  return made
}

/** Whether JSON can represent the value. */
export function isWritten(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

/** undefined between two steps of a value that is made. */
function* pieces(value: unknown): Generator<string | undefined> {
  if (typeof value === 'string') yield* textPieces(value)
  else if (value instanceof NumberText) yield value.text
  else if (value instanceof Later) yield* pieces(yield* value.make())
  else if (roomBehind(value, PART_CHARACTERS) >= 0) yield JSON.stringify(value)
  else if (Array.isArray(value)) {
    let before = '['
    for (const one of value) {
      yield before
      yield* pieces(isWritten(one) ? one : null)
      before = ','
    }
    yield ']'
  } else {
    let before = '{'
    for (const [name, one] of Object.entries(Object(value))) {
      if (!isWritten(one)) continue
      yield `${before}${JSON.stringify(name)}:`
      yield* pieces(one)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}

/** The room after the value; less than 0 if it does not fit. Reads no further. */
function roomBehind(value: unknown, room: number): number {
  let left = room - VALUE_CHARACTERS
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left
  if (value instanceof Later) return -1
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = roomBehind(value[at], left)
    return left
  }
  for (const name in value) {
    if (left < 0) break
    left = roomBehind((value as Readonly<Record<string, unknown>>)[name], left - name.length)
  }
  return left
}

function* textPieces(text: string): Generator<string> {
  if (text.length <= PART_CHARACTERS) {
    yield JSON.stringify(text)
    return
  }
  yield '"'
  for (let from = 0; from < text.length; ) {
    const to = characterEnd(text, from + PART_CHARACTERS)
    yield JSON.stringify(text.slice(from, to)).slice(1, -1)
    from = to
  }
  yield '"'
}

/** The position, or the one after the character that would be cut there. */
function characterEnd(text: string, at: number): number {
  const isInside = isHigh(text.charCodeAt(at - 1)) && at < text.length
  return isInside ? at + 1 : at
}

/** The first half of a character beyond U+FFFF. */
function isHigh(code: number): boolean {
  return (code & 0xfc00) === 0xd800
}
