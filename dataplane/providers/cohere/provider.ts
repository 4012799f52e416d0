/** Cohere's Chat, Embed and Rerank APIs. */
import { bodyOf } from '../../json/unwritten.ts'
import type { Headers, Provider, ProviderSettings } from '../../wire/provider.ts'
import { classifyAnswer, type Recogniser } from '../failures/classify.ts'
import { EFFORTLESS, type LessonRule, withLesson } from '../failures/lessons.ts'
import { bearer } from '../openai-like/provider.ts'
import { SSE } from '../openai-like/sse.ts'
import { rerankOf } from '../rerank/operation.ts'
import { readAnswer } from './answer.ts'
import { embedLeftOut, embedRequest, readEmbeddings } from './embeddings.ts'
import { facts } from './facts.ts'
import { chatRequest, leftOutOf } from './request.ts'
import { openChatStream } from './stream.ts'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'context', status: [400], says: /^too many tokens/ },
  // The key is blocked.
  { class: 'credential', status: [498] },
  { class: 'quota', status: [429], says: /\bmonth/i },
]

const LESSONS: readonly LessonRule[] = [
  { says: /thinking.*not supported|does not support (?:thinking|reasoning)/i, teaches: EFFORTLESS },
]

export const cohere: Provider = {
  ...facts,
  framing: SSE,
  operations: {
    chat: {
      encode(request, settings, maxTokens) {
        const sent = chatRequest(request, settings, maxTokens)
        return {
          path: '/chat',
          headers: headersOf(settings, request.stream ? SSE.mediaType : 'application/json'),
          body: bodyOf(sent, request.bytes),
          leftOut: leftOutOf(request.body, sent),
        }
      },
      decode: (body, request, origin) => readAnswer(body, request, origin, RECOGNISERS),
      openStream: (request, origin, kept) => openChatStream(request, origin, RECOGNISERS, kept),
    },
    embeddings: {
      encode: (request, settings) => ({
        path: '/embed',
        headers: headersOf(settings, 'application/json'),
        body: bodyOf(embedRequest(request, settings), request.bytes),
        leftOut: embedLeftOut(request),
      }),
      decode: (body, request, origin) => readEmbeddings(body, request, origin, RECOGNISERS),
    },
    rerank: rerankOf(RECOGNISERS),
  },
  classify: (status, headers, body) =>
    withLesson(classifyAnswer(RECOGNISERS, status, withDelay(headers), body), LESSONS),
}

function headersOf(settings: ProviderSettings, accept: string): Headers {
  return {
    'content-type': 'application/json',
    accept,
    // Compressed events would be delayed and arrive together.
    'accept-encoding': 'identity',
    ...bearer(settings),
  }
}

/** The API sends when its limit resets, in seconds since 1970; compared with the API's own clock. */
function withDelay(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const seconds = Number(headers['x-ratelimit-reset']) - Date.parse(String(headers.date)) / 1000
  if ('retry-after' in headers || !(seconds > 0)) return headers
  return { ...headers, 'retry-after': String(seconds) }
}
