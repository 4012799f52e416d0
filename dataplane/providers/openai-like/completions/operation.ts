/** Legacy completions in OpenAI's own wire: bytes pass, with only the necessary changes. */

import type { Change } from '../../../json/edit.ts'
import { memberOf } from '../../../json/unwritten.ts'
import type { CompletionsBody, CompletionsRequest } from '../../../wire/inner-form.ts'
import type {
  Headers,
  ProviderOperation,
  ProviderSettings,
  UpstreamRequest,
} from '../../../wire/provider.ts'
import { refuseUnsupported, unsupported } from '../../../wire/unsupported.ts'
import type { CompletionsOptions, OpenAiLike } from '../options.ts'
import { askUsage, inWire, leaveOut } from '../request.ts'
import { decodeCompletion, readCompletion } from './answer.ts'
import { openTextReader, openTextWireReader } from './stream.ts'

/** Name of this wire; dialects of clients have the same name. */
const WIRE = 'openai-completions'
const PATH = '/completions'

export function completionsOf(
  provider: string,
  options: OpenAiLike,
  own: CompletionsOptions,
  headersOf: (settings: ProviderSettings) => { readonly stream: Headers; readonly whole: Headers },
): ProviderOperation<'completions'> {
  const { recognisers, failing, repeatsUsage, variant } = options
  const repeats = repeatsUsage === true && { repeatsUsage }
  const read = { recognisers, ...(failing && { failing }), ...repeats, ...own }
  return {
    encode(request, settings, maxTokens) {
      refuseUnsupported(provider, request.body, own.cannot)
      refusePrompts(provider, request.body, own.prompts)
      const model = options.model?.(settings) ?? settings.model
      const { usageUnasked } = variant?.isFor(settings) ? variant.options : options
      const isUsageAsked = request.stream && !usageUnasked
      return {
        path: options.path?.(settings, PATH) ?? PATH,
        headers: headersOf(settings)[request.stream ? 'stream' : 'whole'],
        ...encodeBody(
          request,
          { ...own, ...repeats, own: options.own, model, isUsageAsked },
          maxTokens,
        ),
      }
    },
    decode: (body, request) => decodeCompletion(body, request, read),
    openStream: (request, _origin, kept) => openTextReader(request, read, kept),
    sameWire: {
      wire: WIRE,
      decode: (body, request) => readCompletion(body, request, read),
      openStream: (request, kept) => openTextWireReader(request, read, kept),
    },
  }
}

/** Throws `unsupported` for prompts that the runtime would not read, or would read only in part. */
function refusePrompts(
  provider: string,
  { prompt }: CompletionsBody,
  taken: CompletionsOptions['prompts'],
): void {
  if (taken === undefined || typeof prompt === 'string') return
  if (taken === 'texts' && Array.isArray(prompt) && typeof prompt[0] === 'string') return
  const fix = taken === 'texts' ? 'send texts instead of lists of tokens' : 'send one text'
  throw unsupported(provider, 'prompt', fix)
}

interface CompletionsEncoding extends CompletionsOptions, Pick<OpenAiLike, 'own' | 'repeatsUsage'> {
  readonly model: string
  readonly isUsageAsked: boolean
}

function encodeBody(
  request: CompletionsRequest,
  { model, isUsageAsked, ...options }: CompletionsEncoding,
  maxTokens: number | undefined,
): Pick<UpstreamRequest, 'body' | 'leftOut'> {
  const { body } = request
  const { names, changed } = inWire(WIRE, request)
  const edits = new Map<string, Change>()
  if (body.model !== model) edits.set('model', JSON.stringify(model))
  if (isUsageAsked) askUsage(edits, body, options)
  if (maxTokens !== undefined && (body.max_tokens ?? null) === null)
    edits.set('max_tokens', String(maxTokens))
  for (const [name, value] of Object.entries(options.rewrite?.(body) ?? {}))
    edits.set(name, value === undefined ? undefined : memberOf(value, request.bytes))
  const leftOut = leaveOut(edits, names, request.omitted, options)
  return { body: changed(edits), leftOut }
}
