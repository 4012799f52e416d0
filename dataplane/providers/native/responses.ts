/** OpenAI's responses at upstreams with that API: the client's bytes, with only the necessary changes. */

import { type Change, editedBody } from '../../json/edit.ts'
import { changedMember } from '../../json/steps/member.ts'
import { type Later, memberOf } from '../../json/unwritten.ts'
import { isRecord, listOf, parsedExactly, recordOf } from '../../json/values.ts'
import type { ChatRequest } from '../../wire/inner-form.ts'
import type {
  Failure,
  Headers,
  NativeWire,
  ProviderSettings,
  UpstreamRequest,
  Workaround,
} from '../../wire/provider.ts'
import { Unsupported } from '../../wire/unsupported.ts'
import { effortAmong } from '../efforts.ts'
import { withoutHosted } from '../extras/hosted-tools.ts'
import type { Recogniser } from '../failures/classify.ts'
import { shortNames } from '../openai-like/asking/names.ts'
import { withSchemas, withSchemasOfResponse } from '../openai-like/asking/tools.ts'
import { ROUTING } from '../routing-members.ts'
import { isNoPath } from './no-path.ts'
import { openResponse, readResponse } from './responses-answer.ts'

type HeadersOf = (settings: ProviderSettings) => {
  readonly stream: Headers
  readonly whole: Headers
}

export interface ResponsesOptions {
  readonly path: (settings: ProviderSettings, path: string) => string
  readonly model: (settings: ProviderSettings) => string
  /** Members that clients may not set. */
  readonly own?: readonly string[] | undefined
  /** Whether the upstream seals reasoning, and opens what it sealed. */
  readonly seals?: boolean
  /** Whether it stores responses and conversations, and compacts long conversations. */
  readonly keeps?: boolean
  readonly recognisers: readonly Recogniser[]
  /** Whether it limits user names, and requires types and properties in function schemas. */
  readonly isStrict?: boolean | undefined
}

/** Name of this wire; dialects of clients have the same name. */
const WIRE = 'openai-responses'
const PATH = '/responses'
const SEALED = '"encrypted_content"'
/** The upstream cannot open reasoning that another one sealed. */
const FOREIGN_SEAL = 'invalid_encrypted_content'
/** The API accepts no smaller limit. */
const OUTPUT_TOKENS_MIN = 16

export function responsesOf(headersOf: HeadersOf, options: ResponsesOptions): NativeWire<'chat'> {
  return {
    api: 'responses',
    wire: WIRE,
    encode(request, settings, maxTokens) {
      const { below = '', untranslated } = request
      if (untranslated !== undefined && below !== '' && options.keeps !== true)
        throw new Unsupported(untranslated.message, [untranslated.param])
      const isEffortless = settings.capabilities.reasons === false
      const refused = isEffortless && request.spans.has('reasoning') ? ['reasoning'] : []
      return {
        path: options.path(settings, PATH + below),
        headers: headersOf(settings)[request.stream ? 'stream' : 'whole'],
        body: bodyOf(request, settings, maxTokens, { ...options, refused }),
        leftOut: refused,
      }
    },
    decode: (body, request) => readResponse(body, request, options.recognisers),
    openStream: () => openResponse(options.recognisers),
    workaround,
    ...(options.keeps && {
      kept: (settings, path) => ({
        path: options.path(settings, path),
        headers: headersOf(settings).whole,
      }),
    }),
  }
}

function workaround(failure: Failure): Workaround | undefined {
  if (failure.code === FOREIGN_SEAL) return 'unsealed'
  return isNoPath(failure) ? 'translated' : undefined
}

function bodyOf(
  request: ChatRequest,
  settings: ProviderSettings,
  maxTokens: number | undefined,
  { own = [], seals, model: modelOf, isStrict, refused }: ResponsesOptions & Refused,
): UpstreamRequest['body'] {
  const { allow } = settings
  const model = modelOf(settings)
  const { bytes, spans, body, omitted } = request
  const edits = new Map<string, Change>(request.edits)
  if (body.model !== model) edits.set('model', JSON.stringify(model))
  if (request.maxTokens === undefined && maxTokens !== undefined && request.below === undefined)
    edits.set('max_output_tokens', String(Math.max(OUTPUT_TOKENS_MIN, maxTokens)))
  for (const name of spans.keys())
    if (ROUTING.has(name) || own.includes(name) || omitted?.has(name)) edits.set(name, undefined)
  const { outputMost } = settings.capabilities
  const limit = request.maxTokens ?? maxTokens
  if (outputMost !== undefined && limit !== undefined && limit > outputMost)
    edits.set('max_output_tokens', String(outputMost))
  const reasoning = otherReasoning(request, settings)
  if (reasoning !== undefined) edits.set('reasoning', reasoning)
  for (const name of refused) edits.set(name, undefined)
  if (request.unsent?.some(({ extra }) => allow?.includes(extra))) putTools(edits, request, allow)
  if (isStrict) bindNames(edits, request, allow)
  const isSealed = (request.isUnsealed || !seals) && bytes.includes(SEALED)
  const input = isSealed ? unsealedInput(request) : undefined
  if (input !== undefined) edits.set('input', input)
  return editedBody(bytes, spans, edits)
}

/** Replaces an effort that the model refuses. */
function otherReasoning(
  { bytes, spans }: ChatRequest,
  { capabilities: { efforts } }: ProviderSettings,
): string | undefined {
  const span = spans.get('reasoning')
  if (span === undefined || efforts === undefined) return undefined
  const reasoning = parsedExactly(bytes.toString('utf8', span.start, span.end))
  const { effort: asked } = recordOf(reasoning)
  const effort = effortAmong(asked, efforts)
  if (effort === undefined || effort === asked) return undefined
  return JSON.stringify({ ...recordOf(reasoning), effort })
}

interface Refused {
  readonly refused: readonly string[]
}

function bindNames(
  edits: Map<string, Change>,
  { body, bytes, spans }: ChatRequest,
  allow: readonly string[] | undefined,
): void {
  for (const [name, value] of Object.entries(shortNames(body)))
    edits.set(name, JSON.stringify(value))
  const span = spans.get('tools')
  // The tools of the inner form are the same functions, so they need no second reading.
  if (span === undefined || withSchemas(body.tools) === body.tools) return
  const tools = parsedExactly(bytes.toString('utf8', span.start, span.end))
  const kept = withoutHosted(tools, allow) ?? tools
  edits.set('tools', memberOf(withSchemasOfResponse(kept), bytes))
}

/** The tools, including those that the upstream may run. */
function putTools(
  edits: Map<string, Change>,
  { bytes, spans }: ChatRequest,
  allow: readonly string[] | undefined,
): void {
  const span = spans.get('tools')
  const tools = span && parsedExactly(bytes.toString('utf8', span.start, span.end))
  const kept = withoutHosted(tools, allow)
  edits.delete('tools')
  edits.delete('tool_choice')
  if (kept !== undefined) edits.set('tools', memberOf(kept, bytes))
}

/**
 * Removes reasoning that only another upstream can open, and the ids of items, because they would name the removed
 * items.
 */
function unsealedInput({ bytes, spans }: ChatRequest): string | Later | undefined {
  const span = spans.get('input')
  return span && changedMember(bytes, span, unsealed)
}

function unsealed(items: unknown): unknown[] | undefined {
  if (!Array.isArray(items)) return undefined
  const isOpen = (item: unknown) => {
    const { type, encrypted_content: sealed, content } = recordOf(item)
    return type === 'reasoning' ? listOf(content).length > 0 : typeof sealed !== 'string'
  }
  return items.filter(isOpen).map(withoutSeal)
}

function withoutSeal(item: unknown): unknown {
  if (!isRecord(item)) return item
  const { id: _id, encrypted_content: _sealed, ...rest } = item
  return rest
}
