/** Ollama, through its own API. */
import { bodyOf } from '../../json/unwritten.ts'
import type { Headers, Provider, ProviderSettings } from '../../wire/provider.ts'
import { classifyAnswer, type Recogniser } from '../failures/classify.ts'
import { EFFORTLESS, type LessonRule, withLesson } from '../failures/lessons.ts'
import { OF_THE_REQUEST } from '../failures/of-the-request.ts'
import { openAnswerStream, readAnswer } from './answer.ts'
import {
  completionLeftOut,
  completionRequest,
  openCompletion,
  readCompletion,
} from './completions.ts'
import { embedLeftOut, embedRequest, readEmbeddings } from './embeddings.ts'
import { facts } from './facts.ts'
import { LINES } from './lines.ts'
import { chatRequest, leftOutOf } from './request.ts'

const OF_PICTURES_AND_TEMPLATES =
  /missing data required for image input|chat template prompt error|^template: /

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'overloaded', says: /server busy/ },
  { class: 'context', status: [400, 500], says: /exceeds.{0,60}context|context length/ },
  // Ollama passes on the messages of its embedded runtime.
  { class: 'client', status: [500], says: OF_THE_REQUEST },
  { class: 'client', status: [500], says: OF_PICTURES_AND_TEMPLATES },
]

const LESSONS: readonly LessonRule[] = [{ says: /does not support thinking$/, teaches: EFFORTLESS }]

export const ollama: Provider = {
  ...facts,
  framing: LINES,
  operations: {
    chat: {
      encode: (request, settings, maxTokens) => ({
        path: '/api/chat',
        headers: headersOf(settings, request.stream ? LINES.mediaType : 'application/json'),
        body: bodyOf(chatRequest(request, settings, maxTokens), request.bytes),
        leftOut: leftOutOf(request, settings),
      }),
      decode: (body, request, origin) => readAnswer(body, request, origin, RECOGNISERS),
      openStream: (request, origin, kept) => openAnswerStream(request, origin, RECOGNISERS, kept),
    },
    completions: {
      encode: (request, settings, maxTokens) => ({
        path: '/api/generate',
        headers: headersOf(settings, request.stream ? LINES.mediaType : 'application/json'),
        body: bodyOf(completionRequest(request, settings, maxTokens), request.bytes),
        leftOut: completionLeftOut(request),
      }),
      decode: (body, _request, origin) => readCompletion(body, origin, RECOGNISERS),
      openStream: (_request, origin) => openCompletion(origin, RECOGNISERS),
    },
    embeddings: {
      encode: (request, settings) => ({
        path: '/api/embed',
        headers: headersOf(settings, 'application/json'),
        body: bodyOf(embedRequest(request, settings), request.bytes),
        leftOut: embedLeftOut(request),
      }),
      decode: (body, request, origin) => readEmbeddings(body, request, origin, RECOGNISERS),
    },
  },
  classify: (status, headers, body) =>
    withLesson(classifyAnswer(RECOGNISERS, status, headers, body), LESSONS),
}

function headersOf({ credential }: ProviderSettings, accept: string): Headers {
  return {
    'content-type': 'application/json',
    accept,
    // Compressed lines would be delayed and arrive together.
    'accept-encoding': 'identity',
    ...(credential !== '' && { authorization: `Bearer ${credential}` }),
  }
}
