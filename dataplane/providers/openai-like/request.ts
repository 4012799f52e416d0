/**
 * Writes a request for OpenAI's own wire: the client's bytes, changed only where they have to be.
 */

import { editMembers } from '../../json/edit.ts'
import { isRecord } from '../../json/values.ts'
import { writtenObject } from '../../json/written.ts'
import type { ChatBody, ChatMessage, ChatRequest, ModelRequest } from '../../wire/inner-form.ts'
import type { ProviderSettings, UpstreamRequest } from '../../wire/provider.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { refuseUnsupported } from '../../wire/unsupported.ts'
import { ROUTING } from '../routing-members.ts'
import type { OpenAiLike } from './options.ts'

/** Members that only OpenAI's own API obeys. */
export const HOSTED_MEMBERS: readonly string[] = ['audio', 'modalities', 'web_search_options']

/** Name of this wire; clients' dialects have the same. */
export const WIRE = 'openai-chat'

type Edits = Map<string, string | undefined>
type Unused = Pick<OpenAiLike, 'allow' | 'cannot' | 'hints' | 'own'>
type Bounds = Pick<OpenAiLike, 'maxTokens' | 'maxTokensOnly' | 'maxTokensDefault'>

/** The body, and the members that were left out of it because they have no effect there. */
type Encoded = Pick<UpstreamRequest, 'body' | 'leftOut'>

export function encodeBody(
  request: ChatRequest,
  settings: ProviderSettings,
  maxTokens: number | undefined,
  options: OpenAiLike & Pick<ProviderFacts, 'name'>,
): Encoded {
  const { body } = request
  const { bytes, spans } = inWire(WIRE, request)
  const edits: Edits = new Map()
  const model = options.model?.(settings) ?? settings.model
  if (body.model !== model) edits.set('model', JSON.stringify(model))
  refuseUnsupported(options.name, body, options.cannot)
  const heard = withoutThoughts(options.developerRole ? body : withoutDevelopers(body))
  if (heard !== body) edits.set('messages', JSON.stringify(heard.messages))
  if (request.stream && !options.usageUnasked) askUsage(edits, body, options)
  boundTokens(edits, { body, spans }, maxTokens, options)
  for (const [name, value] of Object.entries(options.rewrite?.(heard) ?? {})) {
    edits.set(name, value === undefined ? undefined : JSON.stringify(value))
  }
  const leftOut = leaveOut(edits, spans, request.omitted, options)
  return { body: editMembers(bytes, spans, edits), leftOut }
}

/** The body in a wire: the client's bytes, or the inner form in writing. */
export function inWire(wire: string, request: ModelRequest): Pick<ModelRequest, 'bytes' | 'spans'> {
  if (request.wire === wire) return request
  return writtenObject(request.body)
}

/** The members that the client sent and this runtime has no use for. */
export function leaveOut(
  edits: Edits,
  spans: ModelRequest['spans'],
  omitted: ReadonlySet<string> | undefined,
  { allow, cannot, hints, own }: Unused,
): string[] | undefined {
  let leftOut: string[] | undefined
  for (const name of spans.keys()) {
    // Members that it cannot do and that ask for something have been refused.
    // A limit may take the place of one that is omitted.
    const isOmitted = omitted?.has(name) && edits.get(name) === undefined
    if (ROUTING.has(name) || isOmitted || cannot?.includes(name) || own?.includes(name)) {
      edits.set(name, undefined)
    } else if (!edits.has(name) && (hints?.includes(name) || allow?.includes(name) === false)) {
      edits.set(name, undefined)
      leftOut ??= []
      leftOut.push(name)
    }
  }
  return leftOut
}

/**
 * Usage is always asked for, because it is what gets metered; the reader hides it where the client
 * did not ask. Beside each piece it is exact for a client that leaves.
 */
export function askUsage(
  edits: Edits,
  body: Pick<ChatBody, 'stream_options'>,
  { repeatsUsage }: Pick<OpenAiLike, 'repeatsUsage'>,
): void {
  // Something that is no object is a client's mistake, which the upstream explains best.
  const given: unknown = body.stream_options ?? {}
  if (!isRecord(given)) return
  const asked = { include_usage: true, ...(repeatsUsage && { continuous_usage_stats: true }) }
  if (Object.keys(asked).every((name) => given[name] === true)) return
  edits.set('stream_options', JSON.stringify({ ...given, ...asked }))
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

/** Thinking that another provider's model has signed. */
function withoutThoughts(body: ChatBody): ChatBody {
  if (!body.messages.some(({ thinking_blocks: blocks }) => blocks !== undefined)) return body
  return { ...body, messages: body.messages.map(({ thinking_blocks: _, ...rest }) => rest) }
}

function withoutDevelopers(body: ChatBody): ChatBody {
  const isDeveloper = (message: ChatMessage) => message.role === 'developer'
  if (!body.messages.some(isDeveloper)) return body
  const heard = (message: ChatMessage) =>
    isDeveloper(message) ? { ...message, role: 'system' } : message
  return { ...body, messages: body.messages.map(heard) }
}
