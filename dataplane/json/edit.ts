/**
 * Changes top-level members in the bytes of a JSON object: replaced, removed or added, all other
 * bytes as they were.
 */
import type { Span } from './found.ts'
import { parseJson } from './parse.ts'
import { type Edit, splice } from './splice.ts'
import { COMMA, OPEN_BRACE } from './tokens.ts'

/** New value of a member as JSON text by the member's name; `undefined` removes it. */
type Changes = ReadonlyMap<string, string | undefined>

/** `bytes` must be valid JSON and `spans` what scanMembers found in it. */
export function editMembers(
  bytes: Buffer,
  spans: ReadonlyMap<string, Span>,
  changes: Changes,
): Buffer {
  if (changes.size === 0) return bytes
  const replaced = replaceOne(bytes, spans, changes)
  if (replaced !== undefined) return replaced
  const body = bytes.indexOf(OPEN_BRACE) + 1
  const edits: Edit[] = []
  let from = body
  let kept = false
  for (const [name, span] of inOrder(spans)) {
    const text = changes.get(name)
    if (text === undefined && changes.has(name)) {
      edits.push({ start: from, end: span.end, text: '' })
    } else {
      // The first member that stays must not begin with the comma that separated it from a removed
      // one.
      if (!kept && from !== body) {
        edits.push({ start: from, end: bytes.indexOf(COMMA, from) + 1, text: '' })
      }
      if (text !== undefined) edits.push({ ...span, text })
      kept = true
    }
    from = span.end
  }
  const added = addedMembers(spans, changes)
  if (added !== '') edits.unshift({ start: body, end: body, text: kept ? `${added},` : added })
  return withoutHidden(splice(bytes, edits), changes)
}

/** Most requests change their model and nothing else. */
function replaceOne(
  bytes: Buffer,
  spans: ReadonlyMap<string, Span>,
  changes: Changes,
): Buffer | undefined {
  if (changes.size > 1) return undefined
  for (const [name, text] of changes) {
    const span = spans.get(name)
    if (span === undefined || text === undefined) return undefined
    return splice(bytes, [{ start: span.start, end: span.end, text }])
  }
  return undefined
}

/**
 * Spans hold the last of members that appear twice, so the order of insertion need not be the order
 * of bytes.
 */
function inOrder(spans: ReadonlyMap<string, Span>): [string, Span][] {
  return [...spans].sort((one, other) => one[1].start - other[1].start)
}

function addedMembers(spans: ReadonlyMap<string, Span>, changes: Changes): string {
  const members: string[] = []
  for (const [name, text] of changes) {
    if (text !== undefined && !spans.has(name)) members.push(`${JSON.stringify(name)}:${text}`)
  }
  return members.join(',')
}

/**
 * A removed member that stood there twice is still there once; only then is the whole object
 * written anew.
 */
function withoutHidden(bytes: Buffer, changes: Changes): Buffer {
  const removed = [...changes].filter(([, text]) => text === undefined).map(([name]) => name)
  if (removed.length === 0) return bytes
  // It was scanned as an object.
  const left = parseJson(bytes.toString()) as object
  if (!removed.some((name) => Object.hasOwn(left, name))) return bytes
  const rest = Object.entries(left).filter(([name]) => !removed.includes(name))
  return Buffer.from(JSON.stringify(Object.fromEntries(rest)))
}
