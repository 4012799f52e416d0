/** Total readers of foreign JSON: they return a result for any value, or report that it is missing. */
import { isWithinBounds } from './bounds.ts'
import { NumberText } from './numbers.ts'
import { parseExactly, parseJson } from './parse.ts'

/** An object with untyped members. */
export type Json = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof NumberText)
  )
}

/** The object, or an empty one for everything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** The value at this path; undefined if a part of the path is missing. */
export function valueBelow(value: unknown, ...path: readonly (string | number)[]): unknown {
  let below = value
  for (const part of path) {
    if (Array.isArray(below) && typeof part === 'number') below = below[part]
    else if (isRecord(below) && Object.hasOwn(below, part)) below = below[part]
    else return undefined
  }
  return below
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The list at this path; empty if there is no list. */
export function listBelow(
  value: unknown,
  ...path: readonly (string | number)[]
): readonly unknown[] {
  return listOf(valueBelow(value, ...path))
}

/** A text that is not empty; an empty one counts as absent. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A count of tokens; an invalid one, such as a negative, fractional or textual number, counts as absent. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The length of a foreign list; undefined if it is not a list. */
export function lengthOf(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined
}

/** Looks up a foreign text in one of our tables, without inherited names such as `constructor`. */
export function rowOf<Row>(table: Readonly<Record<string, Row>>, name: unknown): Row | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}

/** undefined also if the text exceeds the bounds of `isWithinBounds`. */
export function parsed(text: string, valuesMax?: number): unknown {
  return isWithinBounds(text, valuesMax) ? readWith(parseJson, text) : undefined
}

/**
 * The same, and numbers in arguments and schemas keep their text (`numbers.ts`). `word`: a text without it has no such
 * numbers; few events of a stream have some.
 */
export function parsedExactly(text: string, word = ''): unknown {
  if (!text.includes(word)) return parsed(text)
  return isWithinBounds(text) ? readWith(parseExactly, text) : undefined
}

/** The arguments of a call, parsed from their JSON text or taken as an object; otherwise an empty object. */
export function parsedArguments(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'string') return recordOf(value)
  return recordOf(isWithinBounds(value) ? readWith(parseHeld, value) : undefined)
}

/** The same as JSON text; a text stays unchanged. */
export function argumentsText(value: unknown): string {
  return typeof value === 'string' && value.trim() !== '' ? value : JSON.stringify(recordOf(value))
}

function parseHeld(text: string): unknown {
  return parseExactly(text, true)
}

function readWith(parse: (text: string) => unknown, text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** Values of bytes that were parsed in steps before they are read. */
const parsedEarlier = new WeakMap<Buffer, { readonly value: unknown }>()

/**
 * For the turn in which `parsedBytes` reads it first, because readers of a decoder may read an answer one after the
 * other.
 */
export function keepParsed(bytes: Buffer, value: unknown): void {
  parsedEarlier.set(bytes, { value })
}

interface AnswerContent {
  /**
   * Whether an answer that was read with plain numbers has values of the user; absent: its text is searched for some.
   */
  readonly holdsValues?: (answer: unknown) => boolean
  /** The answer has only our numbers, and at most this many values. */
  readonly valuesMax?: number
}

/** `parsedExactly` of a whole answer. */
export function parsedBytes(
  bytes: Buffer,
  { holdsValues, valuesMax }: AnswerContent = {},
): unknown {
  const earlier = parsedEarlier.get(bytes)
  if (earlier === undefined) {
    const text = bytes.toString()
    if (holdsValues === undefined && valuesMax === undefined) return parsedExactly(text)
    const answer = parsed(text, valuesMax)
    return holdsValues?.(answer) === true ? parsedExactly(text) : answer
  }
  // The bytes may be kept for longer than their value is needed.
  setImmediate(() => parsedEarlier.delete(bytes))
  return earlier.value
}
