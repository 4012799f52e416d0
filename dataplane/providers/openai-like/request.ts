/**
 * Writes a request for OpenAI's own wire: the client's bytes, changed only where they have to be.
 */

import { GatewayError } from '../../base/errors.ts'
import type { ChatBody, ChatMessage, ChatRequest, ModelRequest } from '../../inner-form.ts'
import { editMembers } from '../../json/edit.ts'
import { scanMembers } from '../../json/members.ts'
import { isRecord } from '../../json/values.ts'
import type { ProviderSettings } from '../contract.ts'
import type { OpenAiLike } from './options.ts'

/**
 * Proxies behind an upstream's name would obey these: a client must not choose hosts or
 * credentials.
 */
export const ROUTING: ReadonlySet<string> = new Set([
  'api_base',
  'base_url',
  'api_key',
  'extra_headers',
  'organization',
])

/** Members that mean something only at OpenAI's own API: elsewhere without effect, or refused. */
export const HOSTED_MEMBERS: readonly string[] = [
  'user',
  'metadata',
  'store',
  'safety_identifier',
  'prompt_cache_key',
  'service_tier',
  'verbosity',
  'prediction',
  'modalities',
  'audio',
  'web_search_options',
]

/** Name of this wire; clients' dialects have the same. */
export const WIRE = 'openai-chat'

type Edits = Map<string, string | undefined>
type Bounds = Pick<OpenAiLike, 'maxTokens' | 'maxTokensOnly' | 'maxTokensDefault'>

export function encodeBody(
  request: ChatRequest,
  settings: ProviderSettings,
  maxTokens: number | undefined,
  options: OpenAiLike,
): Buffer {
  const { body } = request
  const { bytes, spans } = inWire(WIRE, request)
  const edits: Edits = new Map()
  if (body.model !== settings.model) edits.set('model', JSON.stringify(settings.model))
  if (options.oneChoice) refuseChoices(body)
  const heard = options.developerRole ? body : withoutDevelopers(body)
  if (heard !== body) edits.set('messages', JSON.stringify(heard.messages))
  if (request.stream) askUsage(edits, body)
  boundTokens(edits, { body, spans }, maxTokens, options)
  for (const [name, value] of Object.entries(options.rewrite?.(heard) ?? {})) {
    edits.set(name, value === undefined ? undefined : JSON.stringify(value))
  }
  for (const name of spans.keys()) {
    if (ROUTING.has(name) || !isUnderstood(name, options)) edits.set(name, undefined)
  }
  return editMembers(bytes, spans, edits)
}

/** The body in a wire: the client's bytes, or the inner form in writing. */
export function inWire(wire: string, request: ModelRequest): Pick<ModelRequest, 'bytes' | 'spans'> {
  if (request.wire === wire) return request
  const bytes = Buffer.from(JSON.stringify(request.body))
  return { bytes, spans: scanMembers(bytes) }
}

function isUnderstood(name: string, { allow, drop }: OpenAiLike): boolean {
  if (drop?.includes(name)) return false
  return allow === undefined || allow.includes(name)
}

/**
 * Usage is always asked for, because it is what gets metered; the reader hides it where the client
 * did not ask.
 */
function askUsage(edits: Edits, body: ChatBody): void {
  // Something that is no object is a client's mistake, which the upstream explains best.
  const options: unknown = body.stream_options ?? {}
  if (!isRecord(options) || options.include_usage === true) return
  edits.set('stream_options', JSON.stringify({ ...options, include_usage: true }))
}

function boundTokens(
  edits: Edits,
  { body, spans }: Pick<ChatRequest, 'body' | 'spans'>,
  maxTokens: number | undefined,
  { maxTokens: member, maxTokensOnly, maxTokensDefault }: Bounds,
): void {
  const other = member === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  const given = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const moves = maxTokensOnly === true && spans.has(other)
  if (moves) edits.set(other, undefined)
  if (given === undefined) {
    const bound = maxTokens ?? maxTokensDefault
    if (bound !== undefined) edits.set(member, String(bound))
  } else if (moves && body[member] !== given) {
    edits.set(member, JSON.stringify(given))
  }
}

function refuseChoices({ n }: ChatBody): void {
  if (typeof n !== 'number' || n <= 1) return
  throw new GatewayError('ERR_GW_INVALID_REQUEST', 'This model gives one choice; send n: 1.', {
    param: 'n',
  })
}

function withoutDevelopers(body: ChatBody): ChatBody {
  const isDeveloper = (message: ChatMessage) => message.role === 'developer'
  if (!body.messages.some(isDeveloper)) return body
  const heard = (message: ChatMessage) =>
    isDeveloper(message) ? { ...message, role: 'system' } : message
  return { ...body, messages: body.messages.map(heard) }
}
