/** The id of a caller without a key: the name of the `auth` entry, and the caller's name in it. */
import { hash } from 'node:crypto'

/** Names in logs and traces have a bounded length. */
const NAME_LENGTH_MAX = 128
const DIGITS = 16
const AFTER_ENTRY = ':'

/** `idp:alice`. A configuration with a key of such an id is refused, so no caller has the id of another. */
export function callerId(entry: string, name: string): string {
  return `${entry}${AFTER_ENTRY}${bounded(name)}`
}

/** The entry whose callers have ids like this one; undefined if no entry has. */
export function entryOf(id: string, entries: { has(entry: string): boolean }): string | undefined {
  for (let end = id.indexOf(AFTER_ENTRY); end !== -1; end = id.indexOf(AFTER_ENTRY, end + 1))
    if (entries.has(id.slice(0, end))) return id.slice(0, end)
  return undefined
}

/** Adds a hash, so that long names with the same beginning stay distinct. */
function bounded(name: string): string {
  if (name.length <= NAME_LENGTH_MAX) return name
  const begin = name.slice(0, NAME_LENGTH_MAX - DIGITS - 1)
  return `${begin}~${hash('sha256', name).slice(0, DIGITS)}`
}
