/**
 * Total readers of JSON that came from outside: whatever stands there, they answer or say that it
 * is not there.
 */
import { isWithinBounds } from './bounds.ts'

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object itself, or an empty one for everything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that says something: the empty one counts as absent. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A count of tokens; garbage such as negative, fractional or textual numbers counts as absent. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Looks a text of theirs up in a table of ours, in which names such as `constructor` are not. */
export function rowOf<Row>(table: Readonly<Record<string, Row>>, name: unknown): Row | undefined {
  return typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
}

/** undefined also where parsing would build more than anybody meant: see `isWithinBounds`. */
export function parsed(text: string): unknown {
  if (!isWithinBounds(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
