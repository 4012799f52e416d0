/** Changes some strings of a JSON text at any depth, and leaves all other bytes unchanged. */
import { memberName } from '../json/members.ts'
import { type Edit, splice } from '../json/splice.ts'
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  closingQuoteIn,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../json/tokens.ts'

/** The names and indices above a value, with its own. */
export type StringPath = readonly (string | number)[]

/** The new text; undefined: the text stays. */
export type StringChange = (value: string, path: StringPath) => string | undefined

/** An unfinished object or list. */
interface Level {
  /** The member or entry that is being read. */
  at: string | number
  isNameNext: boolean
}

/** Calls `change` for the members with these names, in order. Returns the same bytes if nothing has changed. */
export function changedStrings(
  bytes: Buffer,
  names: ReadonlySet<string>,
  change: StringChange,
): Buffer {
  const edits: Edit[] = []
  const levels: Level[] = []
  for (let at = 0; at < bytes.length; at++) {
    const level = levels.at(-1)
    switch (bytes[at]) {
      case QUOTE: {
        const end = closingQuoteIn(bytes, at + 1) + 1
        // The text is not JSON, which its reader reports.
        if (end <= 0) return bytes
        if (level?.isNameNext) {
          level.at = memberName(bytes, at, end)
          level.isNameNext = false
        } else if (typeof level?.at === 'string' && names.has(level.at)) {
          const path = levels.map((one) => one.at)
          const text = change(memberName(bytes, at, end), path)
          if (text !== undefined) edits.push({ start: at, end, text: JSON.stringify(text) })
        }
        at = end - 1
        break
      }
      case OPEN_BRACE:
        levels.push({ at: '', isNameNext: true })
        break
      case OPEN_BRACKET:
        levels.push({ at: 0, isNameNext: false })
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        levels.pop()
        break
      case COMMA:
        if (typeof level?.at === 'number') level.at++
        else if (level !== undefined) level.isNameNext = true
    }
  }
  return edits.length === 0 ? bytes : splice(bytes, edits)
}

/** The same for a parsed value. */
export function changedStringsOf<Value>(
  value: Value,
  names: ReadonlySet<string>,
  change: StringChange,
  path: StringPath = [],
): Value {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const changed = entries.map(([name, below]) => {
    const at = [...path, Array.isArray(value) ? Number(name) : name]
    if (typeof below !== 'string') return changedStringsOf(below, names, change, at)
    return (names.has(name) ? change(below, at) : undefined) ?? below
  })
  if (changed.every((one, place) => one === entries[place]?.[1])) return value
  if (Array.isArray(value)) return changed as Value
  return Object.fromEntries(entries.map(([name], place) => [name, changed[place]])) as Value
}
