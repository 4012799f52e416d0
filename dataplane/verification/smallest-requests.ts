/** The smallest request of each operation that an upstream answers, as a client would send it. */

import { openAiChat } from '../apis/openai-chat/api.ts'
import { openAiCompletions } from '../apis/openai-completions/api.ts'
import { openAiEmbeddings } from '../apis/openai-embeddings/api.ts'
import { rerank } from '../apis/rerank/api.ts'
import { transcription } from '../apis/transcription/api.ts'
import type { Api } from '../request/api.ts'
import type { Operation } from '../wire/inner-form.ts'
import type { OwnRequest } from './own-call.ts'

export interface SmallestRequest {
  readonly api: Api
  readonly request: OwnRequest
}

/** In this order a route is asked for the first operation that it serves. */
export const PROBED = ['chat', 'embeddings', 'rerank', 'completions', 'transcription'] as const

const JSON_TYPE = 'application/json'
const BOUNDARY = 'gw-verification-recording'
const SAMPLES_PER_SECOND = 8000
const HEADER_BYTES = 44

export function smallestRequest(
  operation: Operation,
  model: string,
  maxTokens: number,
): SmallestRequest {
  const json = (api: Api, body: object): SmallestRequest => ({
    api,
    request: { url: api.path, contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(body)) },
  })
  switch (operation) {
    case 'chat':
      return json(openAiChat, {
        model,
        messages: [{ role: 'user', content: 'ping' }],
        max_tokens: maxTokens,
      })
    case 'completions':
      return json(openAiCompletions, { model, prompt: 'ping', max_tokens: maxTokens })
    case 'embeddings':
      return json(openAiEmbeddings, { model, input: 'ping' })
    case 'rerank':
      return json(rerank, { model, query: 'ping', documents: ['ping'] })
    case 'transcription':
      return recording(model)
  }
}

function recording(model: string): SmallestRequest {
  const part = (disposition: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n`
  const head =
    `${part('name="model"')}\r\n${model}\r\n` +
    `${part('name="file"; filename="ping.wav"')}Content-Type: audio/wav\r\n\r\n`
  const body = Buffer.concat([
    Buffer.from(head),
    silence(SAMPLES_PER_SECOND / 4),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
  const contentType = `multipart/form-data; boundary=${BOUNDARY}`
  return { api: transcription, request: { url: transcription.path, contentType, body } }
}

/** WAV: 16 bits, one channel. */
function silence(samples: number): Buffer {
  const bytes = samples * 2
  const wav = Buffer.alloc(HEADER_BYTES + bytes)
  wav.write('RIFF', 0)
  wav.writeUInt32LE(HEADER_BYTES - 8 + bytes, 4)
  wav.write('WAVEfmt ', 8)
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(1, 22)
  wav.writeUInt32LE(SAMPLES_PER_SECOND, 24)
  wav.writeUInt32LE(SAMPLES_PER_SECOND * 2, 28)
  wav.writeUInt16LE(2, 32)
  wav.writeUInt16LE(16, 34)
  wav.write('data', 36)
  wav.writeUInt32LE(bytes, 40)
  return wav
}
