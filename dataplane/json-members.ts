/** Finds and replaces top-level members in the bytes of a JSON object, leaving all other bytes alone. */
import type { Span } from './call.ts'

/** Members that two readers of one body could read differently if they appeared twice. */
const SINGLE = new Set([
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'stream',
  'stream_options',
])
const SINGLE_LENGTH_MAX = Math.max(...[...SINGLE].map((name) => name.length))
const LOWER_CASE = /^[a-z_]*$/
const DEPTH_MAX = 64
const MEMBERS_MAX = 256

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** The body is not a JSON object this gateway forwards; the message says why. */
export class MembersError extends Error {
  readonly param: string | undefined
  constructor(message: string, param?: string) {
    super(message)
    this.param = param
  }
}

/**
 * Spans of the values of an object's top-level members.
 * It bounds depth and member count before any parser recurses; validity itself is JSON.parse's business, which must
 * follow. Linear in the number of bytes. Throws MembersError.
 */
export function scanMembers(bytes: Buffer): Map<string, Span> {
  const spans = new Map<string, Span>()
  let members = 0
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== OPEN_BRACE) throw new MembersError('The body must be a JSON object.')
  at = skipSpace(bytes, at + 1)
  while (at < bytes.length && bytes[at] !== CLOSE_BRACE) {
    if (bytes[at] !== QUOTE) throw missing('a name in double quotes', at)
    const nameEnd = stringEnd(bytes, at)
    const name = memberName(bytes, at, nameEnd)
    const colon = skipSpace(bytes, nameEnd)
    if (bytes[colon] !== COLON) throw missing('a colon', colon)
    const start = skipSpace(bytes, colon + 1)
    const end = valueEnd(bytes, start)
    const meant = meantName(name)
    if (meant !== undefined) {
      throw new MembersError(`The member "${name}" must be written "${meant}".`, name)
    }
    if (spans.has(name) && SINGLE.has(name)) {
      throw new MembersError(`The member "${name}" appears twice; send it once.`, name)
    }
    members++
    if (members > MEMBERS_MAX)
      throw new MembersError(`The body has more than ${MEMBERS_MAX} members.`)
    spans.set(name, { start, end })
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
    else if (bytes[at] !== CLOSE_BRACE) throw missing('a comma or "}"', at)
  }
  return spans
}

export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** A copy of `bytes` with the edits applied; edits must be in order and must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let length = bytes.length
  for (const { start, end, text } of edits) length += Buffer.byteLength(text) - (end - start)
  const made = Buffer.allocUnsafe(length)
  let at = 0
  let from = 0
  for (const { start, end, text } of edits) {
    at += bytes.copy(made, at, from, start)
    at += made.write(text, at)
    from = end
  }
  bytes.copy(made, at, from)
  return made
}

/**
 * The decided name that `name` is another spelling of. Decoders that ignore case take "Model" for "model", and the last
 * of the two wins: the upstream would serve another model than the one that was judged.
 */
function meantName(name: string): string | undefined {
  // A folded letter is never longer than it was, so a decided name has no longer spelling.
  if (name.length > SINGLE_LENGTH_MAX || LOWER_CASE.test(name)) return undefined
  // Both ways: the long s has only an upper case in ASCII, the Kelvin sign only a lower case.
  const folded = name.toLowerCase().toUpperCase().toLowerCase()
  return SINGLE.has(folded) ? folded : undefined
}

function missing(what: string, at: number): MembersError {
  return new MembersError(`The body is not valid JSON: ${what} is missing at position ${at}.`)
}

function memberName(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('utf8', start + 1, end - 1)
  // An escaped name ("\u006dodel") is the same member to a parser, so it is decoded before it is compared.
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(bytes.toString('utf8', start, end)) as string
  } catch {
    throw missing('a name that can be read', start)
  }
}

function valueEnd(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return stringEnd(bytes, start)
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return scalarEnd(bytes, start)
  let depth = 1 // the object around it
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = stringEnd(bytes, at)
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++
      if (depth > DEPTH_MAX)
        throw new MembersError(`The body is nested deeper than ${DEPTH_MAX} levels.`)
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth--
      if (depth === 1) return at + 1
    }
    at++
  }
  throw new MembersError('The body ends in the middle of a value.')
}

function scalarEnd(bytes: Buffer, start: number): number {
  let at = start
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === COMMA || byte === CLOSE_BRACE || isSpace(byte)) break
    at++
  }
  if (at === start) throw missing('a value', start)
  return at
}

/** Index behind the closing quote of the string that opens at `start`. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at)
    if (quote === -1) throw new MembersError('The body ends in the middle of a string.')
    let slashes = 0
    while (bytes[quote - 1 - slashes] === BACKSLASH && quote - 1 - slashes > start) slashes++
    if (slashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

function skipSpace(bytes: Buffer, at: number): number {
  let index = at
  while (index < bytes.length && isSpace(bytes[index])) index++
  return index
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
