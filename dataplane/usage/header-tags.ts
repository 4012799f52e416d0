/**
 * Tags in headers of other gateways: a JSON object (Cloudflare, Portkey), or a list of words and of `name:value` or
 * `name=value` (LiteLLM).
 */
import type { Incoming } from '../call/call.ts'
import { parseJson } from '../json/parse.ts'
import { isRecord } from '../json/values.ts'
import type { TagHeader } from '../schema/index.ts'

const HEADER_MAX = 2048

export interface HeaderTags {
  /** Values by the names of declared tags, as the client wrote them. */
  readonly values: ReadonlyMap<string, unknown>
  /** Whether a header could not be read: it is too long, or it begins like an object and is not JSON. */
  readonly hasUnread: boolean
}

/** The first header with a name sets it. Never throws. */
export function headerTags(
  headers: readonly TagHeader[],
  declared: readonly string[],
  incoming: Pick<Incoming, 'header'>,
): HeaderTags {
  const values = new Map<string, unknown>()
  let hasUnread = false
  for (const { header, tag } of headers) {
    const text = incoming.header(header.toLowerCase())?.trim()
    if (text === undefined || text === '') continue
    const found = text.length > HEADER_MAX ? undefined : valuesIn(text, declared, tag)
    if (found === undefined) hasUnread = true
    else for (const [name, value] of found) if (!values.has(name)) values.set(name, value)
  }
  return { values, hasUnread }
}

/** undefined if it cannot be read. */
function valuesIn(
  text: string,
  declared: readonly string[],
  tag: string | undefined,
): ReadonlyMap<string, unknown> | undefined {
  return text.startsWith('{') ? membersIn(text, declared) : entriesIn(text, declared, tag)
}

function membersIn(
  text: string,
  declared: readonly string[],
): ReadonlyMap<string, unknown> | undefined {
  const members = objectIn(text)
  if (members === undefined) return undefined
  const found = new Map<string, unknown>()
  for (const name of declared) {
    const value = Object.hasOwn(members, name) ? members[name] : null
    // Cloudflare's may be numbers and flags.
    const isPlain = typeof value === 'number' || typeof value === 'boolean'
    if (value !== null) found.set(name, isPlain ? String(value) : value)
  }
  return found
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJson(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The first entry that names no declared tag is the value of `tag`. */
function entriesIn(
  text: string,
  declared: readonly string[],
  tag: string | undefined,
): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  let word: string | undefined
  for (const part of text.split(',')) {
    const entry = part.trim()
    if (entry === '') continue
    const name = declared.find(
      (one) => entry.startsWith(one) && /[:=]/.test(entry.charAt(one.length)),
    )
    if (name === undefined) word ??= entry
    else if (!found.has(name)) found.set(name, entry.slice(name.length + 1).trim())
  }
  if (tag !== undefined && word !== undefined && !found.has(tag)) found.set(tag, word)
  return found
}
