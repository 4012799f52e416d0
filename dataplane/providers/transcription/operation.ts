/** Transcriptions at upstreams with OpenAI's form: the client's values, with the upstream's model. */

import { isRecord, parsedBytes, recordOf } from '../../json/values.ts'
import type { Sent, TranscriptionRequest, Usage } from '../../wire/inner-form.ts'
import type {
  Failure,
  Headers,
  Passed,
  ProviderOperation,
  ProviderSettings,
} from '../../wire/provider.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { ROUTING } from '../routing-members.ts'
import { formType, writeForm } from './form.ts'
import { openChunks, openEvents } from './stream.ts'
import { usageOf } from './usage.ts'

/** Name of this wire; dialects of clients have the same name. */
const WIRE = 'openai-transcriptions'
const PATH = '/audio/transcriptions'

export interface TranscriptionOptions {
  readonly path?: (settings: ProviderSettings, path: string) => string
  readonly model?: (settings: ProviderSettings) => string
  readonly recognisers: readonly Recogniser[]
  /** Streams have chunks like those of conversations, and plain text comes as JSON, as at vLLM. */
  readonly isLikeChat?: boolean
}

type HeadersOf = (settings: ProviderSettings) => {
  readonly stream: Headers
  readonly whole: Headers
}

export function transcriptionOf(
  options: TranscriptionOptions,
  headersOf: HeadersOf,
): ProviderOperation<'transcription'> {
  const { recognisers, isLikeChat } = options
  return {
    encode(request, settings) {
      const { form, bytes, stream } = request
      const headers = headersOf(settings)[stream ? 'stream' : 'whole']
      const type = { 'content-type': formType(form), ...(!stream && { accept: '*/*' }) }
      return {
        path: options.path?.(settings, PATH) ?? PATH,
        headers: { ...headers, ...type },
        ...writeForm(bytes, form, editsOf(request, settings, options)),
      }
    },
    decode(body, request) {
      const { text, usage, failure } = readAnswer(body, request, options)
      if (failure !== undefined) return { kind: 'failure', failure }
      return { kind: 'answer', answer: { text: text ?? body.toString() }, usage }
    },
    sameWire: {
      wire: WIRE,
      decode: (body, request) => passed(body, request, options),
      openStream: (_request, kept) =>
        isLikeChat ? openChunks(recognisers, kept) : openEvents(recognisers),
    },
  }
}

function editsOf(
  { body, form, stream, omitted }: TranscriptionRequest,
  settings: ProviderSettings,
  { model, isLikeChat }: TranscriptionOptions,
): Map<string, string | undefined> {
  const edits = new Map<string, string | undefined>()
  for (const { name } of form.parts)
    if (ROUTING.has(name) || omitted?.has(name) || (isLikeChat && name.startsWith('stream_')))
      edits.set(name, undefined)
  edits.set('model', model?.(settings) ?? settings.model)
  // Some servers write it with a capital.
  if (body.stream !== undefined) edits.set('stream', String(stream))
  if (isLikeChat && stream) edits.set('stream_include_usage', 'true')
  return edits
}

interface TranscriptAnswer {
  /** Absent if the body is the text. */
  readonly text?: string
  readonly usage?: Usage | undefined
  readonly failure?: Failure
}

function readAnswer(
  body: Buffer,
  { isJson }: Sent<TranscriptionRequest>,
  { recognisers, isLikeChat }: TranscriptionOptions,
): TranscriptAnswer {
  if (!isJson && !isLikeChat) return {}
  const json = parsedBytes(body)
  if (!isJson && typeof recordOf(json).text !== 'string') return {}
  if (!isRecord(json)) return { failure: malformed("The upstream's answer is not a JSON object.") }
  if (isError(json)) return { failure: classifyError(recognisers, json) }
  if (typeof json.text !== 'string')
    return { failure: malformed('The upstream answered without a text.') }
  return { text: json.text, usage: usageOf(json) }
}

function passed(
  body: Buffer,
  request: Sent<TranscriptionRequest>,
  options: TranscriptionOptions,
): Passed {
  const { text, usage, failure } = readAnswer(body, request, options)
  if (failure !== undefined) return { kind: 'failure', failure }
  // The upstream has processed the recording, so it is charged.
  if (request.stream) return { kind: 'failure', failure: NO_STREAM, usage }
  return { kind: 'body', body: request.isJson || text === undefined ? body : text, usage }
}

const NO_STREAM: Failure = {
  class: 'client',
  status: 400,
  message: 'This model does not stream transcriptions; leave stream out.',
  type: 'invalid_request_error',
  param: 'stream',
}
