/** Parses JSON of megabytes in pieces: many short values at once, long ones member by member. */
import type { Found } from '../found.ts'
import { MembersError } from '../members.ts'
import { holds } from '../numbers.ts'
import { parseExactly, parseJson } from '../parse.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  closingQuoteIn,
  isEscaped,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../tokens.ts'

/** Pieces in one part of a string that is decoded in parts. */
const PART_PIECES = 4
/** The most bytes of a character in UTF-8. */
const CHARACTER_BYTES = 4
/** `\uXXXX`. */
const ESCAPE_BYTES = 6

type WorkInParts<T> = Generator<undefined, T>
type JsonTree = Record<string, unknown>

export interface PiecesOptions {
  /** Which of the long top-level members are kept; absent: all. */
  readonly keeps?: (name: string) => boolean
  /** The user wrote all of it, such as the arguments of a call: its numbers keep their text. */
  readonly isHeld?: boolean
}

/**
 * The object in the bytes, as JSON.parse would return it, but with only the kept ones of its long members. Omitted
 * members are checked as strictly as the rest. Yields where other work may run. Throws MembersError.
 */
export function* parseInPieces(
  bytes: Buffer,
  { long, pieceBytes, hasOddNumbers }: Pick<Found, 'long' | 'pieceBytes' | 'hasOddNumbers'>,
  { keeps = keepsAll, isHeld = false }: PiecesOptions = {},
): WorkInParts<JsonTree> {
  const start = skipSpace(bytes, 0)
  let end = bytes.length
  while (end > start && isSpace(bytes[end - 1])) end--
  const tree: JsonTree = {}
  const numbers = isHeld ? 'held' : hasOddNumbers ? 'named' : 'plain'
  yield* members({ bytes, long, pieceBytes, keeps, numbers }, start, end, tree)
  return tree
}

interface PieceSource {
  readonly bytes: Buffer
  readonly long: ReadonlyMap<number, number>
  readonly pieceBytes: number
  readonly keeps: (name: string) => boolean
  /** Numbers that keep their text: none, those in members of certain names, all. */
  readonly numbers: 'plain' | 'named' | 'held'
}

function keepsAll(): boolean {
  return true
}

/** The value at this position; an empty one if it is not kept. */
function* longValue(
  { numbers, ...source }: PieceSource,
  { name, isKept }: { readonly name: string; readonly isKept: boolean },
  start: number,
  end: number,
): WorkInParts<unknown> {
  const first = source.bytes[start]
  if (first === QUOTE) return yield* longString(source, start, end, isKept)
  const made: JsonTree | unknown[] = first === OPEN_BRACKET ? [] : {}
  const isHeld = numbers === 'named' && first === OPEN_BRACE && holds(name)
  const below = {
    ...source,
    keeps: isKept ? keepsAll : keepsNone,
    numbers: isHeld ? 'held' : numbers,
  } as const
  yield* members(below, start, end, made)
  return made
}

function keepsNone(): boolean {
  return false
}

/** Puts the values between the bracket at `start` and the one before `end` into `made`. */
function* members(
  source: PieceSource,
  start: number,
  end: number,
  made: JsonTree | unknown[],
): WorkInParts<void> {
  const { bytes, long, pieceBytes, keeps, numbers } = source
  const isList = bytes[start] === OPEN_BRACKET
  const last = end - 1
  if (bytes[last] !== (isList ? CLOSE_BRACKET : CLOSE_BRACE)) throw broken(last)
  let at = skipSpace(bytes, start + 1)
  /** Start and end of a run of short, unparsed members. */
  let runAt = at
  let runEnd = at
  while (at < last) {
    const nameAt = at
    const nameEnd = isList ? at : stringEnd(source, at, last)
    const valueAt = isList ? at : valueBehind(bytes, nameEnd)
    const far = long.get(valueAt)
    at = far ?? shortEnd(source, valueAt, last)
    if (far !== undefined || valueAt - nameAt > pieceBytes) {
      putRun(source, runAt, runEnd, made)
      yield
      const name = isList ? '' : String(yield* longString(source, nameAt, nameEnd, true))
      const isKept = keeps(name)
      const value =
        far === undefined
          ? parse(bytes.toString('utf8', valueAt, at), valueAt, numbers)
          : yield* longValue(source, { name, isKept }, valueAt, at)
      if (isKept) put(made, name, value)
      runEnd = -1
    } else {
      if (runEnd === -1) runAt = nameAt
      runEnd = at
      if (runEnd - runAt > pieceBytes) {
        putRun(source, runAt, runEnd, made)
        runEnd = -1
        yield
      }
    }
    at = skipSpace(bytes, at)
    if (at === last) break
    if (bytes[at] !== COMMA) throw broken(at)
    at = skipSpace(bytes, at + 1)
    if (at >= last) throw broken(at)
    if (runEnd === -1) runAt = at
  }
  putRun(source, runAt, runEnd, made)
}

/** Parses a run of neighbours in one call. */
function putRun(
  { bytes, keeps, numbers }: PieceSource,
  from: number,
  to: number,
  made: JsonTree | unknown[],
): void {
  if (to <= from) return
  const text = bytes.toString('utf8', from, to)
  if (Array.isArray(made)) {
    const values = parse(`[${text}]`, from, numbers) as unknown[]
    if (keeps !== keepsNone) for (const value of values) made.push(value)
    return
  }
  // Braces are around it.
  const found = parse(`{${text}}`, from, numbers) as JsonTree
  if (keeps === keepsNone) return
  for (const name of Object.keys(found)) put(made, name, found[name])
}

function put(made: JsonTree | unknown[], name: string, value: unknown): void {
  if (Array.isArray(made)) made.push(value)
  // An assignment would set the prototype.
  else if (name === '__proto__') {
    Object.defineProperty(made, name, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
  } else made[name] = value
}

/** Decodes in parts; a string that is not kept is only checked. */
function* longString(
  { bytes, pieceBytes }: Pick<PieceSource, 'bytes' | 'pieceBytes'>,
  start: number,
  end: number,
  isKept: boolean,
): WorkInParts<string> {
  const partBytes = PART_PIECES * pieceBytes
  let text = ''
  let from = start + 1
  const last = end - 1
  while (from < last) {
    const to = last - from <= partBytes ? last : cutBefore(bytes, from, from + partBytes)
    const part = parse(`"${bytes.toString('utf8', from, to)}"`, from) as string
    if (isKept) text += part
    from = to
    yield
  }
  return text
}

/**
 * The last position up to `to` that is not inside a character or an escape; `from` is such a position. Answers may not be UTF-8.
 */
function cutBefore(bytes: Buffer, from: number, to: number): number {
  let at = to
  while (at > to - CHARACTER_BYTES && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--
  let nearest = at - 1
  while (nearest > at - ESCAPE_BYTES && bytes[nearest] !== BACKSLASH) nearest--
  if (bytes[nearest] !== BACKSLASH) return at
  return isEscaped(bytes, from, nearest) ? nearest + 1 : nearest
}

function valueBehind(bytes: Buffer, nameEnd: number): number {
  const colon = skipSpace(bytes, nameEnd)
  if (bytes[colon] !== COLON) throw broken(colon)
  return skipSpace(bytes, colon + 1)
}

/** End of a value that fits into one piece. */
function shortEnd(source: PieceSource, start: number, last: number): number {
  const { bytes, pieceBytes } = source
  const first = bytes[start]
  if (first === QUOTE) return stringEnd(source, start, last)
  const isNested = first === OPEN_BRACE || first === OPEN_BRACKET
  let depth = 0
  let at = start
  while (at < last) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = stringEnd(source, at, last)
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
      if (depth === 0) return at + 1
    } else if (!isNested && (byte === COMMA || isSpace(byte))) break
    at++
    if (at - start > pieceBytes) throw new MembersError('The body has a number that is too long.')
  }
  if (at === start || isNested) throw broken(at)
  return at
}

function stringEnd({ bytes, long }: PieceSource, start: number, last: number): number {
  if (bytes[start] !== QUOTE) throw broken(start)
  const far = long.get(start)
  if (far !== undefined) return far
  const quote = closingQuoteIn(bytes, start + 1, last)
  if (quote < 0 || quote >= last) throw broken(start)
  return quote + 1
}

function parse(text: string, at: number, numbers: PieceSource['numbers'] = 'plain'): unknown {
  try {
    return numbers === 'plain' ? parseJson(text) : parseExactly(text, numbers === 'held')
  } catch {
    throw broken(at)
  }
}

function broken(at: number): MembersError {
  return new MembersError(`The body is not valid JSON at or after position ${at}.`)
}

function skipSpace(bytes: Buffer, at: number): number {
  let index = at
  while (isSpace(bytes[index])) index++
  return index
}
