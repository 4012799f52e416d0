/** The answers of upstreams to requests for texts, vectors and rankings, in the wire of each. */
import { aRandom } from '../random.ts'

export interface Asked {
  readonly provider: string
  readonly seed: number
  /** The requested answers: texts, vectors or ranked documents. */
  readonly count: number
  readonly dimensions: number
  readonly isBase64: boolean
}

const VALUES = [0.25, -0, 1e-7, 3, -2.5]

export function vectorsOf({ count, dimensions, seed }: Asked): number[][] {
  return Array.from({ length: count }, (_, at) =>
    Array.from(
      { length: dimensions },
      (_, place) => VALUES[(at + place + seed) % VALUES.length] ?? 0,
    ),
  )
}

function base64(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString('base64')
}

export function embedded(asked: Asked): string {
  const vectors = vectorsOf(asked)
  const { provider, seed, isBase64 } = asked
  if (provider === 'ollama')
    return JSON.stringify({ model: 'served', embeddings: vectors, prompt_eval_count: 9 })
  if (provider === 'gemini')
    return JSON.stringify({ embeddings: vectors.map((values) => ({ values })) })
  if (provider === 'bedrock')
    return JSON.stringify({ embedding: vectors[0], inputTextTokenCount: 9 })
  if (provider === 'cohere')
    return JSON.stringify({
      id: 'e1',
      embeddings: { float: vectors },
      meta: { billed_units: { input_tokens: 9 } },
    })
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: isBase64 && seed % 2 === 0 ? base64(vector) : vector,
  }))
  const usage = { prompt_tokens: 9, total_tokens: 9 }
  return JSON.stringify({ object: 'list', model: 'served', data: shuffled(data, seed), usage })
}

function shuffled<T>(list: readonly T[], seed: number): T[] {
  const random = aRandom(seed)
  const left = [...list]
  return list.map(() => left.splice(random(left.length), 1)[0] as T)
}

export function textsOf({ count, seed }: Asked): string[] {
  return Array.from({ length: count }, (_, at) => `continued ${at} 😀 ${seed}\n{"a":1.0}`)
}

const USAGE = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 }
const HEAD = { id: 'cmpl-up', object: 'text_completion', created: 1, model: 'served' }

export function completed(asked: Asked): string {
  const texts = textsOf(asked)
  if (asked.provider === 'ollama')
    return JSON.stringify({ model: 'served', response: texts[0], done: true, done_reason: 'stop' })
  const choices = texts.map((text, index) => ({
    text,
    index,
    logprobs: null,
    finish_reason: 'stop',
  }))
  return JSON.stringify({ ...HEAD, choices, usage: USAGE })
}

/** The choices grow in turns. */
export function streamed(asked: Asked): string[] {
  const texts = textsOf(asked)
  if (asked.provider === 'ollama') {
    const [one = ''] = texts
    const pieces = [one.slice(0, 9), one.slice(9)]
    return [
      ...pieces.map((response) => JSON.stringify({ model: 'served', response, done: false })),
      JSON.stringify({ model: 'served', response: '', done: true, done_reason: 'stop' }),
    ]
  }
  const chunk = (index: number, text: string, finish_reason: string | null) =>
    JSON.stringify({ ...HEAD, choices: [{ text, index, logprobs: null, finish_reason }] })
  return [
    ...texts.map((text, index) => chunk(index, text.slice(0, 9), null)),
    ...texts.map((text, index) => chunk(index, text.slice(9), null)),
    ...texts.map((_, index) => chunk(index, '', 'stop')),
    JSON.stringify({ ...HEAD, choices: [], usage: USAGE }),
    '[DONE]',
  ]
}

/** Documents in a changed order, each with its own score. */
export function ranked({ count, seed }: Asked): string {
  const all = Array.from({ length: count }, (_, index) => ({
    index,
    relevance_score: scoreOf(index, seed),
  }))
  const usage = { prompt_tokens: 9, total_tokens: 9 }
  return JSON.stringify({ id: 'r1', model: 'served', results: shuffled(all, seed), usage })
}

export function scoreOf(index: number, seed: number): number {
  return ((index * 7 + seed) % 11) / 11 + index / 1_000
}
