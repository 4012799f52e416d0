/**
 * Changes top-level members in the bytes of a JSON object: replaces, removes or adds them, and keeps all other bytes.
 */
import type { Span } from './found.ts'
import { earlierIn } from './spans.ts'
import { splice } from './splice.ts'
import { COMMA, OPEN_BRACE } from './tokens.ts'
import { AT_ONCE_BYTES, type Later, later, type Part, Unwritten } from './unwritten.ts'
import { isWritten } from './writing.ts'

/** New value of a member as JSON text, or as a value to be written later; `undefined` removes it. */
export type Change = string | Later | undefined
/** By the member's name. */
export type Changes = ReadonlyMap<string, Change>

interface Edit extends Span {
  readonly text: string | Later
}

/** `bytes` must be valid JSON and `spans` the result of its scan. */
export function editMembers(
  bytes: Buffer,
  spans: ReadonlyMap<string, Span>,
  changes: ReadonlyMap<string, string | undefined>,
): Buffer {
  if (changes.size === 0) return bytes
  return splice(bytes, editsOf(bytes, spans, changes) as (Edit & { readonly text: string })[])
}

/** The same; long bytes are not copied, and long values are written later. */
export function editedBody(
  bytes: Buffer,
  spans: ReadonlyMap<string, Span>,
  changes: Changes,
): Buffer | Unwritten {
  if (changes.size === 0) return bytes
  const edits = editsOf(bytes, spans, changes)
  if (bytes.length <= AT_ONCE_BYTES && edits.every(isShort)) return splice(bytes, edits)
  const parts: Part[] = []
  let from = 0
  for (const { start, end, text } of edits) {
    parts.push(bytes.subarray(from, start), text)
    from = end
  }
  return new Unwritten([...parts, bytes.subarray(from)])
}

function isShort(edit: Edit): edit is Edit & { readonly text: string } {
  return typeof edit.text === 'string'
}

/** In order. */
function editsOf(bytes: Buffer, spans: ReadonlyMap<string, Span>, changes: Changes): Edit[] {
  const earlier = earlierIn(spans)
  const replaced = earlier.length === 0 ? replaceOne(spans, changes) : undefined
  if (replaced !== undefined) return replaced
  const body = bytes.indexOf(OPEN_BRACE) + 1
  const edits: Edit[] = []
  let from = body
  let kept = false
  for (const [name, span] of inOrder([...spans, ...earlier])) {
    const text = changes.get(name)
    // An earlier member of the same name is removed with the change.
    const isGone = changes.has(name) && (text === undefined || spans.get(name) !== span)
    if (isGone) edits.push({ start: from, end: span.end, text: '' })
    else {
      // The first remaining member must not begin with the comma that separated it from a removed one.
      if (!kept && from !== body) {
        edits.push({ start: from, end: bytes.indexOf(COMMA, from) + 1, text: '' })
      }
      if (text !== undefined) edits.push({ ...span, text })
      kept = true
    }
    from = span.end
  }
  const added = addedMembers(spans, changes)
  if (added.length > 0 && kept) added.push(',')
  return [...added.map((text) => ({ start: body, end: body, text })), ...edits]
}

/** Most requests change only their model. */
function replaceOne(spans: ReadonlyMap<string, Span>, changes: Changes): Edit[] | undefined {
  if (changes.size > 1) return undefined
  for (const [name, text] of changes) {
    const span = spans.get(name)
    if (span === undefined || text === undefined) return undefined
    return [{ start: span.start, end: span.end, text }]
  }
  return undefined
}

/** The order of insertion need not be the order of bytes. */
function inOrder(spans: [string, Span][]): [string, Span][] {
  return spans.sort((one, other) => one[1].start - other[1].start)
}

function addedMembers(spans: ReadonlyMap<string, Span>, changes: Changes): (string | Later)[] {
  const added: (string | Later)[] = []
  for (const [name, text] of changes) {
    if (text === undefined || spans.has(name)) continue
    added.push(`${added.length === 0 ? '' : ','}${JSON.stringify(name)}:`, text)
  }
  return added
}

/** A body that is written from a tree, with the same changes. `length` is about that of its bytes. */
export function changedTree(
  tree: object,
  changes: Changes,
  { length }: Pick<Buffer, 'length'>,
): string | Unwritten {
  const isLong = length > AT_ONCE_BYTES
  const parts: (string | Later)[] = []
  const put = (name: string, text: string | Later) =>
    parts.push(`${parts.length === 0 ? '{' : ','}${JSON.stringify(name)}:`, text)
  for (const [name, member] of Object.entries(tree)) {
    if (!changes.has(name) && isWritten(member))
      put(name, isLong ? later(member) : JSON.stringify(member))
  }
  for (const [name, text] of changes) if (text !== undefined) put(name, text)
  parts.push(parts.length === 0 ? '{}' : '}')
  return parts.every((part) => typeof part === 'string') ? parts.join('') : new Unwritten(parts)
}
