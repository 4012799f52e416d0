/** Google's Gemini API, at Google AI and on Vertex AI. */
import { bodyOf } from '../../json/unwritten.ts'
import type { Headers, Provider, ProviderSettings } from '../../wire/provider.ts'
import { classifyAnswer, type Recogniser } from '../failures/classify.ts'
import { withLesson } from '../failures/lessons.ts'
import { modelPath } from './address.ts'
import { readAnswer } from './answers/answer.ts'
import { openAnswerStream } from './answers/stream.ts'
import { openCredentials } from './credentials.ts'
import { embedCall, embedLeftOut, readEmbeddings } from './embeddings.ts'
import { facts } from './facts.ts'
import { FRAMES } from './framing.ts'
import { LESSONS } from './lessons.ts'
import { generateRequest } from './request/request.ts'
import { Signatures } from './signatures.ts'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'credential', status: [400], details: /"reason":"API_KEY_/ },
  { class: 'credential', status: [400], says: /^API key (?:not valid|not found|expired)/i },
  // The account cannot be used from this location, or has no billing.
  { class: 'credential', status: [400], type: 'FAILED_PRECONDITION' },
  // The delay in the error is short, but the daily limit lasts longer.
  { class: 'quota', status: [429], details: /"quotaId":"[^"]*PerDay/i },
  {
    class: 'context',
    status: [400, 500],
    says: /input token count .{0,100}(?:exceeds the maximum number of tokens|only supports up to)/i,
  },
]

const READING = { recognisers: RECOGNISERS, signatures: new Signatures() }

export const gemini: Provider = {
  ...facts,
  framing: FRAMES,
  operations: {
    chat: {
      encode(request, settings, maxTokens) {
        const action = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
        const { sent, leftOut } = generateRequest(request, settings, maxTokens, READING.signatures)
        return {
          path: `${modelPath(settings)}:${action}`,
          headers: headersOf(settings, request.stream ? FRAMES.mediaType : 'application/json'),
          body: bodyOf(sent, request.bytes),
          leftOut,
        }
      },
      decode: (body, request, origin) => readAnswer(body, request, origin, READING),
      openStream: (request, origin, kept) => openAnswerStream(request, origin, READING, kept),
    },
    embeddings: {
      encode(request, settings) {
        const { action, body } = embedCall(request, settings)
        return {
          path: `${modelPath(settings)}:${action}`,
          headers: headersOf(settings, 'application/json'),
          body: bodyOf(body, request.bytes),
          leftOut: embedLeftOut(request),
        }
      },
      decode: (body, request, origin) => readEmbeddings(body, request, origin, RECOGNISERS),
    },
  },
  openCredentials,
  classify: (status, headers, body) =>
    withLesson(classifyAnswer(RECOGNISERS, status, headers, body), LESSONS),
}

function headersOf(settings: ProviderSettings, accept: string): Headers {
  return {
    'content-type': 'application/json',
    accept,
    // Compressed events would be delayed and arrive together.
    'accept-encoding': 'identity',
    ...authentication(settings),
  }
}

function authentication({ credential, isFetched }: ProviderSettings): Headers {
  if (credential === '') return {}
  return isFetched ? { authorization: `Bearer ${credential}` } : { 'x-goog-api-key': credential }
}
