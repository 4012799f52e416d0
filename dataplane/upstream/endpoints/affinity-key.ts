/** The key that sends the requests of a conversation to one endpoint, which has their beginning in its cache. */
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import { hashOf } from './choice.ts'

export const BALANCE_HEADER = 'x-session-id'
/** Bounds, together 2 KiB: the beginning of a request identifies it. */
const KEY_MOST = 1024
const SYSTEM_MOST = 512
const TOOLS_MOST = 512
const USER_MOST = 1024
const MESSAGES_MOST = 16
const PARTS_MOST = 16

export interface Client {
  header(name: string): string | undefined
}

/** undefined: the request has nothing to identify it. */
export function affinityKeyOf(
  request: ModelRequest,
  { section, model }: UpstreamSettings,
  client: Client | undefined,
): number | undefined {
  if (section.balance !== 'affinity') return undefined
  const header = section.balance_header?.toLowerCase()
  return conversationOf(request, client, header) ?? beginningOf(request.body, hashOf(model))
}

/** The session or the user that the client names, or the beginning of the conversation; undefined: the request has none. */
export function sessionOf(request: ModelRequest, client: Client | undefined): number | undefined {
  const { user }: Readonly<Record<string, unknown>> = request.body
  const named =
    typeof user === 'string' && user !== '' ? hashOf(user, undefined, KEY_MOST) : undefined
  return conversationOf(request, client) ?? named ?? beginningOf(request.body)
}

function conversationOf(
  { body }: ModelRequest,
  client: Client | undefined,
  header = BALANCE_HEADER,
): number | undefined {
  const { prompt_cache_key: key }: Readonly<Record<string, unknown>> = body
  if (typeof key === 'string' && key !== '') return hashOf(key, undefined, KEY_MOST)
  const named = client?.header(header)
  return named === undefined || named === '' ? undefined : hashOf(named, undefined, KEY_MOST)
}

/** Every endpoint soon caches a shared system prompt, but only one a conversation, whose first question never changes. */
function beginningOf(
  body: Readonly<Record<string, unknown>>,
  from: number = hashOf(''),
): number | undefined {
  const { messages, prompt, tools } = body
  if (!Array.isArray(messages))
    return typeof prompt === 'string' ? hashOf(prompt, from, USER_MOST) : undefined
  let hash = toolsIn(tools, from)
  for (let at = 0; at < messages.length && at < MESSAGES_MOST; at++) {
    const { role, content } = (messages[at] ?? {}) as Readonly<Record<string, unknown>>
    if (role === 'user') return textIn(content, hash, USER_MOST)
    if (role === 'system' || role === 'developer') hash = textIn(content, hash, SYSTEM_MOST)
  }
  return hash
}

function textIn(content: unknown, from: number, most: number): number {
  if (typeof content === 'string') return hashOf(content, from, most)
  if (!Array.isArray(content)) return from
  let hash = from
  let left = most
  for (let at = 0; at < content.length && at < PARTS_MOST && left > 0; at++) {
    const text: unknown = content[at]?.text
    if (typeof text !== 'string') continue
    hash = hashOf(text, hash, left)
    left -= text.length
  }
  return hash
}

/** Uses the names of tools: schemas are long, and the same names mostly mean the same tools. */
function toolsIn(tools: unknown, from: number): number {
  if (!Array.isArray(tools)) return from
  let hash = from
  let left = TOOLS_MOST
  for (let at = 0; at < tools.length && left > 0; at++) {
    const name: unknown = tools[at]?.function?.name
    if (typeof name !== 'string') continue
    hash = hashOf(name, hash, left)
    left -= name.length
  }
  return hash
}
