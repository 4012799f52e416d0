/** Random requests for texts, vectors and rankings of documents, legal and unusual. */
import { oneOf, type Random } from '../conversations/random-json.ts'

export type Fields = Readonly<Record<string, unknown>>
export type Operation = 'completions' | 'embeddings' | 'rerank'

const TEXTS = [
  'Hi',
  ' ',
  '😀 ünï\u2028code',
  'two\nlines',
  '{"a":1.0}',
  'x'.repeat(5_000),
  '0',
  '\\u0041',
]
const TOKENS = [[1, 2, 3], [0], [4_294_967_295, 7]]

export function someRequest(random: Random, operation: Operation): Fields {
  const body = MAKERS[operation](random)
  const user = random(4) === 0 && { user: 'client-1' }
  const entries = Object.entries({ ...body, ...user }).filter(([, value]) => value !== undefined)
  // Members are in any order.
  if (random(2) === 0) entries.reverse()
  return Object.fromEntries([...entries, ['model', 'public-name']])
}

function maybe<T>(random: Random, ...values: readonly T[]): T | undefined {
  return random(3) === 0 ? oneOf(random, values) : undefined
}

function inputs(random: Random, mayBeEmpty: boolean): unknown {
  const texts = mayBeEmpty ? ['', ...TEXTS] : TEXTS
  const many = oneOf(random, [1, 2, 3, 5])
  switch (random(5)) {
    case 0:
      return oneOf(random, TOKENS)
    case 1:
      return Array.from({ length: many }, () => oneOf(random, TOKENS))
    case 2:
    case 3:
      return Array.from({ length: many }, () => oneOf(random, texts))
    default:
      return oneOf(random, texts)
  }
}

const MAKERS: Readonly<Record<Operation, (random: Random) => Fields>> = {
  completions(random) {
    const n = maybe(random, 1, 2)
    const stream = maybe(random, true, false)
    return {
      prompt: inputs(random, true),
      n,
      best_of: stream ? undefined : maybe(random, n ?? 1, 3),
      echo: maybe(random, true, false),
      suffix: maybe(random, '', 'end 😀'),
      logprobs: maybe(random, 0, 2),
      max_tokens: maybe(random, 1, 16),
      stop: maybe<unknown>(random, 'END', ['END', '\n']),
      temperature: maybe(random, 0, 1, 0.5),
      top_p: maybe(random, 1, 0.5),
      presence_penalty: maybe(random, 0, 0.5),
      seed: maybe(random, 7),
      logit_bias: maybe<unknown>(random, {}, { 5: 1 }),
      stream,
      stream_options: stream ? maybe<unknown>(random, { include_usage: true }) : undefined,
    }
  },
  embeddings(random) {
    const many = random(12) === 0 && { input: Array.from({ length: 96 }, (_, at) => `text ${at}`) }
    return {
      input: inputs(random, false),
      dimensions: maybe(random, 3, 5),
      encoding_format: maybe(random, 'float', 'base64', null),
      ...many,
    }
  },
  rerank(random) {
    const one = (at: number) => {
      const text = `${oneOf(random, TEXTS)}${at}`
      if (random(3) > 0) return text
      return random(2) === 0 ? { text } : { text, title: 'A title' }
    }
    const documents = Array.from({ length: 1 + random(4) }, (_, at) => one(at))
    return {
      query: oneOf(random, TEXTS),
      documents,
      top_n: maybe(random, 0, 1, documents.length, 9),
      return_documents: maybe(random, true, false),
      max_tokens_per_doc: maybe(random, 100),
    }
  },
}
