/**
 * The base of every provider with OpenAI's wire: the differences of a runtime are data.
 */
import type { Headers, Provider, ProviderOperation, ProviderSettings } from '../../wire/provider.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { classifyAnswer } from '../failures/classify.ts'
import { withLesson } from '../failures/lessons.ts'
import { messagesOf } from '../native/messages.ts'
import { responsesOf } from '../native/responses.ts'
import { transcriptionOf } from '../transcription/operation.ts'
import { passAnswer } from './answer.ts'
import {
  DETOUR,
  decodeAnswerOr,
  eitherReader,
  encodeResponse,
  isForResponses,
} from './asking/detour.ts'
import { LESSONS, RESPONSES_LESSONS } from './asking/lessons.ts'
import { completionsOf } from './completions/operation.ts'
import { embeddingsOf } from './embeddings.ts'
import { decodeAnswer, openReader } from './inner.ts'
import type { OpenAiLike } from './options.ts'
import { encodeBody, WIRE } from './request.ts'
import { SSE } from './sse.ts'
import { openWireReader } from './stream.ts'

const CHAT_PATH = '/chat/completions'
const RESPONSES_PATH = '/responses'

interface OpenAiLikeProvider extends Provider {
  readonly operations: Provider['operations'] & { readonly chat: ProviderOperation<'chat'> }
}

export function openAiLike(facts: ProviderFacts, options: OpenAiLike): OpenAiLikeProvider {
  const { recognisers, variant } = options
  const named = { ...options, name: facts.name }
  const varied = { ...named, ...variant?.options }
  const lessons = facts.asksResponses ? [...RESPONSES_LESSONS, ...LESSONS] : LESSONS
  const headersOf = headersFor(options.authentication ?? bearer)
  return {
    ...facts,
    framing: SSE,
    operations: {
      chat: {
        encode(request, settings, maxTokens) {
          const isDetour = facts.asksResponses === true && isForResponses(request, settings)
          const path = isDetour ? RESPONSES_PATH : CHAT_PATH
          const own = variant?.isFor(settings) ? varied : named
          return {
            path: options.path?.(settings, path) ?? path,
            headers: headersOf(settings)[request.stream ? 'stream' : 'whole'],
            ...(isDetour ? encodeResponse : encodeBody)(request, settings, maxTokens, own),
            ...(isDetour && { isDetour }),
          }
        },
        decode: (body, request) =>
          decodeAnswerOr(decodeAnswer(body, request, options), body, request, {
            ...facts,
            recognisers,
          }),
        openStream: (request, { isDetour }, kept) => {
          const reader = openReader(request, options, kept)
          return isDetour ? eitherReader(reader, request, recognisers, kept) : reader
        },
        ...(facts.asksResponses && { detour: DETOUR }),
        sameWire: {
          wire: WIRE,
          decode: (body, request) => passAnswer(body, request, options),
          openStream: (request, kept) => openWireReader(request, options, kept),
        },
        natives: [
          responsesOf(headersOf, {
            path: options.path ?? ((_, path) => path),
            model: options.model ?? (({ model }) => model),
            recognisers,
            own: options.own,
            isStrict: options.isStrict,
            ...options.responses,
          }),
          messagesOf(headersOf, recognisers, options.own),
        ],
      },
      ...(options.completions && {
        completions: completionsOf(facts.name, options, options.completions, headersOf),
      }),
      ...(options.embeddings && {
        embeddings: embeddingsOf(facts.name, options, options.embeddings, headersOf),
      }),
      ...(options.transcription && {
        transcription: transcriptionOf({ ...options, ...options.transcription }, headersOf),
      }),
    },
    classify: (status, headers, body) =>
      withLesson(classifyAnswer(recognisers, status, headers, body), lessons),
  }
}

/** Every request of an upstream has the same headers, so they are created once. */
export function headersFor(authentication: (settings: ProviderSettings) => Headers) {
  const made = new WeakMap<
    ProviderSettings,
    { readonly stream: Headers; readonly whole: Headers }
  >()
  return (settings: ProviderSettings) => {
    const known = made.get(settings)
    if (known !== undefined) return known
    const make = (accept: string): Headers => ({
      'content-type': 'application/json',
      accept,
      // Compressed events would be delayed and arrive together.
      'accept-encoding': 'identity',
      ...authentication(settings),
    })
    const fresh = { stream: make(SSE.mediaType), whole: make('application/json') }
    made.set(settings, fresh)
    return fresh
  }
}

export function bearer(settings: ProviderSettings): Record<string, string> {
  return settings.credential === '' ? {} : { authorization: `Bearer ${settings.credential}` }
}
