/** `POST /v1/embeddings`: vectors without a model. Texts with common words have similar vectors. */
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { refuseModel, refuseSome } from './chat.ts'
import type { SimulatedExchange } from './exchange.ts'
import { AnswerPace } from './pace.ts'
import { seededRandom } from './random.ts'
import { wordsOf } from './request.ts'
import type { SimulatorState } from './state.ts'

const DIMENSIONS = 1536
const DIMENSIONS_MAX = 4096
const INPUTS_MAX = 2048
/** Further words have no effect, so that the work for a request is bounded. */
const WORDS_MAX = 512

const Tokens = z.array(z.int().min(0)).min(1)

const EmbeddingRequest = z.looseObject({
  model: z.string(),
  input: z.union([
    z.string(),
    z.array(z.string()).min(1).max(INPUTS_MAX),
    Tokens,
    z.array(Tokens).min(1).max(INPUTS_MAX),
  ]),
  dimensions: z.int().min(1).max(DIMENSIONS_MAX).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
})

export async function embeddings(
  exchange: SimulatedExchange,
  state: SimulatorState,
): Promise<void> {
  const request = await exchange.read(EmbeddingRequest)
  state.counts.requests += 1
  refuseModel(request.model, state)
  refuseSome(state)
  await state.slots.take(exchange.left)
  try {
    const inputs = inputsOf(request.input)
    const tokens = inputs.reduce((sum, words) => sum + words.length, 0)
    state.counts.promptTokens += tokens
    await new AnswerPace(state.settings).reach(0, exchange.left)
    const data = inputs.map((words, index) => {
      const vector = vectorOf(words, request.dimensions ?? DIMENSIONS)
      return { object: 'embedding', index, embedding: encoded(vector, request.encoding_format) }
    })
    const usage = { prompt_tokens: tokens, total_tokens: tokens }
    exchange.sendJson({ object: 'list', data, model: request.model, usage })
  } finally {
    state.slots.free()
  }
}

/** The words of each text; a token number is a word, too. */
function inputsOf(input: z.output<typeof EmbeddingRequest>['input']): readonly string[][] {
  if (typeof input === 'string') return [[...wordsOf(input)]]
  if (typeof input[0] === 'number') return [input.map(String)]
  return (input as readonly (string | number[])[]).map((one) =>
    typeof one === 'string' ? [...wordsOf(one)] : one.map(String),
  )
}

/** The sum of one direction for each word, with length 1. */
function vectorOf(words: readonly string[], dimensions: number): Float32Array {
  const sum = new Float64Array(dimensions)
  const counted = words.length === 0 ? [''] : words.slice(0, WORDS_MAX)
  for (const word of counted) {
    const random = seededRandom(crc32(word.toLowerCase()))
    for (let index = 0; index < dimensions; index += 1) {
      sum[index] = (sum[index] ?? 0) + random() * 2 - 1
    }
  }
  const length = Math.hypot(...sum) || 1
  return Float32Array.from(sum, (value) => value / length)
}

/** base64 of little-endian floats, which OpenAI's clients request by default. */
function encoded(vector: Float32Array, format: 'float' | 'base64' | null | undefined) {
  if (format !== 'base64') return [...vector]
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}
