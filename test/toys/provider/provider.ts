/** A toy that proves the contract of providers: other frames, a signature, two operations. */

import { listOf, parsed, recordOf, textOf } from '../../../dataplane/json/values.ts'
import { classifyAnswer, malformed } from '../../../dataplane/providers/failures/classify.ts'
import type { ChatEvent } from '../../../dataplane/wire/inner-form.ts'
import type {
  FinalRequest,
  Headers,
  Meaning,
  Provider,
  ProviderSettings,
} from '../../../dataplane/wire/provider.ts'
import { facts } from './facts.ts'
import { FRAMES } from './frames.ts'
import { signatureOf } from './signature.ts'

const HEADERS: Headers = { 'content-type': 'application/json', 'accept-encoding': 'identity' }

export const toy: Provider = {
  ...facts,
  framing: FRAMES,
  operations: {
    chat: {
      encode: ({ body, stream }, { model }, maxTokens) => ({
        path: `/say?model=${encodeURIComponent(model)}`,
        headers: { ...HEADERS, accept: stream ? FRAMES.mediaType : 'application/json' },
        body: JSON.stringify({ turns: body.messages, most: body.max_tokens ?? maxTokens }),
      }),
      decode(body) {
        const { said, read, written } = recordOf(parsed(body.toString()))
        const text = textOf(said)
        if (text === undefined) return { kind: 'failure', failure: malformed('It said nothing.') }
        const choices = [{ text, calls: [], finish: 'stop' as const }]
        return {
          kind: 'answer',
          answer: { id: 'toy-1', model: 'toy', choices },
          usage: usageOf(read, written),
        }
      },
      openStream: () => ({ read: ({ data }) => meaningOf(recordOf(parsed(data))) }),
    },
    embeddings: {
      encode: ({ body }, { model }) => ({
        path: `/place?model=${encodeURIComponent(model)}`,
        headers: { ...HEADERS, accept: 'application/json' },
        body: JSON.stringify({ texts: [body.input].flat() }),
      }),
      decode(body) {
        const { places, read } = recordOf(parsed(body.toString()))
        const vectors = listOf(places).map((place) => listOf(place).map(Number))
        return { kind: 'answer', answer: { model: 'toy', vectors }, usage: usageOf(read, 0) }
      },
    },
  },
  classify: (status, headers, body) => classifyAnswer([], status, headers, body),
  sign,
}

function sign(
  { method, path, body, wallMs }: FinalRequest,
  { credential }: ProviderSettings,
): Headers {
  const moment = String(wallMs)
  const signature = signatureOf({ method, path, moment, body }, credential)
  return { 'x-toy-moment': moment, 'x-toy-signature': signature }
}

function meaningOf({ word, read, written }: Readonly<Record<string, unknown>>): Meaning<ChatEvent> {
  if (word === undefined) return { events: [], done: true, usage: usageOf(read, written) }
  if (word === 'begin')
    return { events: [{ kind: 'start', id: 'toy-1', model: 'toy' }], done: false }
  if (word === 'end') return { events: [{ kind: 'end', choice: 0, finish: 'stop' }], done: false }
  return { events: [{ kind: 'delta', choice: 0, delta: { text: String(word) } }], done: false }
}

function usageOf(read: unknown, written: unknown) {
  return {
    promptTokens: Number(read),
    completionTokens: Number(written),
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}
