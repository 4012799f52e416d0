/** Finds top-level members in the bytes of a JSON object, within bounds that apply before parsing. */
import type { Found } from './found.ts'
import { commonName, MembersError, meantName, SINGLE } from './names.ts'
import { isOddAt, mayBeOdd } from './numbers.ts'
import { parseJson } from './parse.ts'
import { noteSpan, type Spans } from './spans.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  closingQuoteIn,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  quoteFrom,
} from './tokens.ts'

export { MembersError }

const DEPTH_MAX = 64
const MEMBERS_MAX = 256
/** Objects, lists, strings, numbers and words, including nested ones, because a parser uses memory for each. */
export const VALUES_MAX = 131_072
/** Parsed in one step, it does not delay other requests. */
export const PIECE_BYTES = 32_768

/**
 * Spans of the values of an object's top-level members. It bounds depth, members and values before any parser builds
 * anything; JSON.parse, which must follow, checks validity. Linear in the number of bytes. Throws MembersError.
 */
export function scanMembers(bytes: Buffer): Spans {
  const scan = new MembersScan(bytes)
  scan.run(bytes.length)
  return scan.spans
}

/** The next part to read. */
const OPENING = 0
const NAME = 1
const NAMED = 2
const VALUE = 3
const SCALAR = 4
const INSIDE = 5
const BEHIND = 6
const DONE = 7

/** For bodies that are too short for long values; it stays empty. */
const NO_LONG = new Map<number, number>()

/** A scan that may pause anywhere and continue later, because a scan of megabytes would delay other requests. */
export class MembersScan implements Found {
  readonly spans: Spans = new Map()
  readonly long: Map<number, number>
  readonly pieceBytes: number
  hasOddNumbers = false
  readonly #bytes: Buffer
  readonly #isAnswer: boolean
  readonly #valuesMax: number
  /** The starts of the containers around this position; only if long values are needed. */
  readonly #opened: number[] | undefined
  #next = OPENING
  #at = 0
  /** The start of the current string; -1 outside. */
  #stringAt = -1
  #name = ''
  #valueAt = 0
  #members = 0
  #values = 1
  #depth = 0
  /** No value has come since the last bracket opened. */
  #isEmpty = false

  /** An answer may have more values, at most `answerValues`, and its names decide nothing about a request. */
  constructor(bytes: Buffer, pieceBytes = PIECE_BYTES, answerValues?: number) {
    this.#bytes = bytes
    this.#isAnswer = answerValues !== undefined
    this.#valuesMax = answerValues ?? VALUES_MAX
    this.pieceBytes = pieceBytes
    const isLong = bytes.length > pieceBytes
    this.#opened = isLong ? [] : undefined
    this.long = isLong ? new Map() : NO_LONG
  }

  /** Reads on to about position `until`; true: to the end. Throws MembersError. */
  run(until: number): boolean {
    const { length } = this.#bytes
    while (this.#next !== DONE) {
      if (this.#at >= until && this.#at < length) return false
      if (this.#stringAt >= 0) this.#string(until)
      else if (this.#next === INSIDE) this.#inside(Math.min(until, length))
      else if (this.#next === SCALAR) this.#scalar(Math.min(until, length))
      else if (this.#spaceEnds(until)) this.#outside()
    }
    return true
  }

  #spaceEnds(until: number): boolean {
    const bytes = this.#bytes
    const end = Math.min(until, bytes.length)
    let at = this.#at
    while (at < end && isSpace(bytes[at])) at++
    this.#at = at
    return at < end || end === bytes.length
  }

  /** At a character other than space, between the parts of a top-level member. */
  #outside(): void {
    const byte = this.#bytes[this.#at]
    switch (this.#next) {
      case OPENING:
        if (byte !== OPEN_BRACE) throw new MembersError('The body must be a JSON object.')
        this.#at++
        this.#next = NAME
        return
      case NAME:
        if (this.#at >= this.#bytes.length)
          throw new MembersError('The body ends in the middle of a value.')
        if (byte === CLOSE_BRACE) this.#next = DONE
        else if (byte !== QUOTE) throw missing('a name in double quotes', this.#at)
        else this.#openString()
        return
      case NAMED:
        if (byte !== COLON) throw missing('a colon', this.#at)
        this.#at++
        this.#next = VALUE
        return
      case VALUE:
        this.#open(byte)
        return
      default:
        if (byte === COMMA) {
          this.#at++
          this.#next = NAME
        } else if (byte !== CLOSE_BRACE) throw missing('a comma or "}"', this.#at)
        else this.#next = DONE
    }
  }

  #open(byte: number | undefined): void {
    this.#valueAt = this.#at
    this.#count()
    if (byte === QUOTE) this.#openString()
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 1 // the object around it
      this.#next = INSIDE
    } else this.#next = SCALAR
  }

  #openString(): void {
    this.#stringAt = this.#at
    this.#at++
  }

  #string(until: number): void {
    const bytes = this.#bytes
    const quote = closingQuoteIn(bytes, this.#at, until)
    if (quote < 0) {
      this.#at = ~quote
      if (this.#at >= bytes.length)
        throw new MembersError('The body ends in the middle of a string.')
      return
    }
    this.#at = quote + 1
    const start = this.#stringAt
    this.#stringAt = -1
    this.#note(start)
    if (this.#next === NAME) {
      this.#name = memberName(bytes, start, this.#at)
      this.#next = NAMED
    } else if (this.#next === VALUE) this.#end()
  }

  #inside(end: number): void {
    const bytes = this.#bytes
    let at = this.#at
    let isEmpty = this.#isEmpty
    while (at < end) {
      const byte = bytes[at]
      if (byte === QUOTE) {
        isEmpty = false
        const quote = quoteFrom(bytes, at + 1)
        // Most strings have no escape just before their end.
        if (quote !== -1 && bytes[quote - 1] !== BACKSLASH && quote - at < this.pieceBytes) {
          at = quote + 1
          continue
        }
        this.#at = at
        this.#isEmpty = false
        this.#openString()
        return
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (++this.#depth > DEPTH_MAX)
          throw new MembersError(`The body is nested deeper than ${DEPTH_MAX} levels.`)
        this.#opened?.push(at)
        isEmpty = true
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (!isEmpty) this.#count()
        isEmpty = false
        this.#depth--
        const start = this.#opened?.pop()
        this.#at = at + 1
        if (start !== undefined) this.#note(start)
        if (this.#depth === 1) {
          this.#isEmpty = false
          this.#end()
          return
        }
      } else if (byte === COMMA) this.#count()
      else {
        if (isEmpty && !isSpace(byte)) isEmpty = false
        if (mayBeOdd(byte) && !this.hasOddNumbers && isOddAt(bytes, at)) this.hasOddNumbers = true
      }
      at++
    }
    this.#at = at
    this.#isEmpty = isEmpty
    if (at >= bytes.length) throw new MembersError('The body ends in the middle of a value.')
  }

  #scalar(end: number): void {
    const bytes = this.#bytes
    let at = this.#at
    while (at < end) {
      const byte = bytes[at]
      if (byte === COMMA || byte === CLOSE_BRACE || isSpace(byte)) break
      at++
    }
    this.#at = at
    if (at === end && end < bytes.length) return
    if (at === this.#valueAt) throw missing('a value', at)
    this.#end()
  }

  /** After a value of the top level. */
  #end(): void {
    const name = this.#name
    if (!this.#isAnswer) this.#judge(name)
    noteSpan(this.spans, name, { start: this.#valueAt, end: this.#at })
    this.#next = BEHIND
  }

  #judge(name: string): void {
    const meant = meantName(name)
    if (meant !== undefined) {
      throw new MembersError(`The member "${name}" must be written "${meant}".`, name)
    }
    if (this.spans.has(name) && SINGLE.has(name)) {
      throw new MembersError(`The member "${name}" appears twice; send it once.`, name)
    }
    if (++this.#members > MEMBERS_MAX)
      throw new MembersError(`The body has more than ${MEMBERS_MAX} members.`)
  }

  /** Counts one more value, or as many as the commas show. */
  #count(): void {
    if (++this.#values > this.#valuesMax) {
      throw new MembersError(
        `The body has more than ${this.#valuesMax} JSON values; send fewer, or shorter lists.`,
      )
    }
  }

  #note(start: number): void {
    if (this.#at - start > this.pieceBytes) this.long.set(start, this.#at)
  }
}

function missing(what: string, at: number): MembersError {
  return new MembersError(`The body is not valid JSON: ${what} is missing at position ${at}.`)
}

/** The quoted name at this position. Throws MembersError. */
export function memberName(bytes: Buffer, start: number, end: number): string {
  const common = commonName(bytes, start + 1, end - 1)
  if (common !== undefined) return common
  const raw = bytes.toString('utf8', start + 1, end - 1)
  // An escaped name ("\u006dodel") is the same member to a parser, so it is decoded before it is compared.
  if (!raw.includes('\\')) return raw
  try {
    return parseJson(bytes.toString('utf8', start, end)) as string
  } catch {
    throw missing('a name that can be read', start)
  }
}
