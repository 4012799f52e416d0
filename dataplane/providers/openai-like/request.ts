/**
 * Writes a request for OpenAI's own wire: the client's bytes, with only the necessary changes.
 */

import { type Change, changedTree, editedBody } from '../../json/edit.ts'
import { memberOf } from '../../json/unwritten.ts'
import { isRecord } from '../../json/values.ts'
import type { ChatBody, ChatRequest, ModelRequest } from '../../wire/inner-form.ts'
import type { ProviderSettings, UpstreamRequest } from '../../wire/provider.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { refuseUnsupported } from '../../wire/unsupported.ts'
import { effortOf, refusedSampling } from '../efforts.ts'
import { MARK, withoutMarks } from '../marks.ts'
import { ROUTING } from '../routing-members.ts'
import { takenBy, takesOf } from './asking/conversation.ts'
import { shortNames } from './asking/names.ts'
import { withSchemas } from './asking/tools.ts'
import type { OpenAiLike } from './options.ts'

/** Members that only OpenAI's own API obeys. */
export const HOSTED_MEMBERS: readonly string[] = ['audio', 'modalities', 'web_search_options']

/** Name of this wire; dialects of clients have the same name. */
export const WIRE = 'openai-chat'

type Edits = Map<string, Change>
type Unused = Pick<OpenAiLike, 'allow' | 'cannot' | 'own'> & {
  readonly hints?: OpenAiLike['hints'] | undefined
}
type Bounds = Pick<OpenAiLike, 'maxTokens' | 'maxTokensOnly' | 'maxTokensDefault'>

/** The body, and the omitted members. */
type Encoded = Pick<UpstreamRequest, 'body' | 'leftOut' | 'lost'>

export function encodeBody(
  request: ChatRequest,
  settings: ProviderSettings,
  maxTokens: number | undefined,
  options: OpenAiLike & Pick<ProviderFacts, 'name'>,
): Encoded {
  const { body } = request
  const { names, changed } = inWire(WIRE, request)
  const edits: Edits = new Map()
  const model = options.model?.(settings) ?? settings.model
  if (body.model !== model) edits.set('model', JSON.stringify(model))
  refuseUnsupported(options.name, body, options.cannot)
  const takes = takesOf(request, settings, options)
  const plain = takes.marks ? body : withoutMarks(body)
  const { messages, lost } = takenBy(plain.messages, takes)
  const heard = messages === plain.messages ? plain : { ...plain, messages }
  if (messages !== body.messages) edits.set('messages', memberOf(messages, request.bytes))
  const tools = options.isStrict ? withSchemas(heard.tools) : heard.tools
  if (tools !== body.tools) edits.set('tools', memberOf(tools, request.bytes))
  if (request.stream && !options.usageUnasked) askUsage(edits, body, options)
  boundTokens(edits, { body, names }, maxTokens, boundsOf(settings, options))
  lowerLimits(edits, body, settings)
  const effort = otherEffort(body, settings)
  if (effort !== undefined) edits.set('reasoning_effort', JSON.stringify(effort))
  for (const [name, value] of Object.entries(options.rewrite?.(heard) ?? {})) {
    edits.set(name, value === undefined ? undefined : memberOf(value, request.bytes))
  }
  if (options.isStrict) bindNames(edits, body)
  const hints = hintsOf(body, settings, options)
  const leftOut = leaveOut(edits, names, request.omitted, { ...options, hints })
  const unseen = plain === body ? lost : [...lost, MARK]
  return { body: changed(edits), leftOut, ...(unseen.length > 0 && { lost: unseen }) }
}

function bindNames(edits: Edits, body: ChatBody): void {
  for (const [name, value] of Object.entries(shortNames(body)))
    edits.set(name, JSON.stringify(value))
}

/** The effort is a hint that models without reasoning refuse; sampling is a hint for reasoning models. */
function hintsOf(
  body: ChatBody,
  { capabilities }: ProviderSettings,
  { hints }: Pick<OpenAiLike, 'hints'>,
): OpenAiLike['hints'] {
  if (capabilities.reasons === false) return [...(hints ?? []), 'reasoning_effort']
  const refused = refusedSampling(body, capabilities)
  return refused.length === 0 ? hints : [...(hints ?? []), ...refused]
}

/** Replaces an effort that the model refuses. */
function otherEffort(body: ChatBody, { capabilities }: ProviderSettings): string | undefined {
  const effort = effortOf(body, capabilities)
  return effort === body.reasoning_effort ? undefined : effort
}

/** The model refuses a limit above its own. */
function lowerLimits(edits: Edits, body: ChatBody, { capabilities }: ProviderSettings): void {
  const { outputMost } = capabilities
  if (outputMost === undefined) return
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    const limit = edits.has(name) ? Number(edits.get(name)) : body[name]
    if (typeof limit === 'number' && limit > outputMost) edits.set(name, String(outputMost))
  }
}

function boundsOf({ capabilities: { limitMember } }: ProviderSettings, bounds: Bounds): Bounds {
  if (limitMember === undefined || bounds.maxTokensOnly) return bounds
  return { ...bounds, maxTokens: limitMember, maxTokensOnly: true }
}

/** The members that the body has. */
type Names = Pick<ReadonlySet<string>, 'has' | 'keys'>

/** A body in a wire that may still change. */
export interface InWire {
  readonly names: Names
  changed(edits: Edits): UpstreamRequest['body']
}

/** The body in a wire: the client's bytes, or the inner form as JSON. */
export function inWire(wire: string, { wire: own, bytes, spans, body }: ModelRequest): InWire {
  if (own === wire) return { names: spans, changed: (edits) => editedBody(bytes, spans, edits) }
  const written = Object.entries(body).filter(([, member]) => member !== undefined)
  const names = new Set(written.map(([name]) => name))
  return { names, changed: (edits) => changedTree(body, edits, bytes) }
}

/** The client's members that this runtime does not need. */
export function leaveOut(
  edits: Edits,
  names: Names,
  omitted: ReadonlySet<string> | undefined,
  { allow, cannot, hints, own }: Unused,
): string[] | undefined {
  let leftOut: string[] | undefined
  for (const name of names.keys()) {
    // Unsupported members that request something have already been refused.
    // A limit may replace an omitted one.
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
 * The gateway always asks for usage, because it charges by it. The reader hides the usage from clients that did not
 * ask. Usage beside each piece is exact even if the client disconnects.
 */
export function askUsage(
  edits: Edits,
  body: Pick<ChatBody, 'stream_options'>,
  { repeatsUsage }: Pick<OpenAiLike, 'repeatsUsage'>,
): void {
  // If the value is not an object, the client made a mistake, and the upstream explains it best.
  const given: unknown = body.stream_options ?? {}
  if (!isRecord(given)) return
  const asked = { include_usage: true, ...(repeatsUsage && { continuous_usage_stats: true }) }
  if (Object.keys(asked).every((name) => given[name] === true)) return
  edits.set('stream_options', JSON.stringify({ ...given, ...asked }))
}

function boundTokens(
  edits: Edits,
  { body, names }: Pick<ChatRequest, 'body'> & Pick<InWire, 'names'>,
  maxTokens: number | undefined,
  { maxTokens: member, maxTokensOnly, maxTokensDefault }: Bounds,
): void {
  const other = member === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  const given = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const moves = maxTokensOnly === true && names.has(other)
  if (moves) edits.set(other, undefined)
  if (given === undefined) {
    const bound = maxTokens ?? maxTokensDefault
    if (bound !== undefined) edits.set(member, String(bound))
  } else if (moves && body[member] !== given) {
    edits.set(member, JSON.stringify(given))
  }
}
