/**
 * The parts of a request that an upstream reads, for texts, vectors and rankings, and the client's members that it does
 * not get.
 */
import type { Fields, Operation } from './asked.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like an upstream without types reads.
type Json = any

/** The texts or lists of tokens that it reads. */
export function inputsIn(operation: Operation, body: Json): unknown {
  if (operation === 'completions') return body.prompt ?? ''
  if (operation === 'rerank') return [body.query, ...body.documents]
  if (body.requests) return body.requests.map(({ content }: Json) => content.parts[0].text)
  return body.input ?? body.texts ?? [body.inputText]
}

/** As a list, if a single text means the same as a list with it. */
export function asList(value: unknown): unknown {
  return Array.isArray(value) ? value : [value]
}

export function inputsOf(operation: Operation, body: Json): unknown {
  if (operation === 'completions') return body.prompt
  if (operation === 'embeddings') return body.input
  return [body.query, ...body.documents.map((one: Json) => one.text ?? one)]
}

/** Other names of a member. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  dimensions: ['output_dimension', 'outputDimensionality'],
  max_tokens: ['num_predict'],
}
/** The gateway does these itself. */
const OURS = ['encoding_format', 'return_documents', 'stream_options', 'stream', 'model']
/** Values without an effect. */
const NOTHING: Fields = {
  echo: false,
  logit_bias: '{}',
  n: 1,
  presence_penalty: 0,
  suffix: '',
  temperature: 1,
  top_n: 0,
  top_p: 1,
}

/** The members of the client's request that the upstream does not get. */
export function lostIn(operation: Operation, asked: Fields, sent: Json): string[] {
  const inputs = { completions: ['prompt'], embeddings: ['input'], rerank: ['query', 'documents'] }
  const flat = { ...sent, ...sent.options, ...sent.requests?.[0] }
  const isThere = (name: string) => [name, ...(NAMES[name] ?? [])].some((one) => one in flat)
  const lost = Object.keys(asked).filter((name) => !isThere(name) && !isNothing(name, asked))
  const titled = operation === 'rerank' && JSON.stringify(asked.documents).includes('"title"')
  return [...lost, ...(titled ? ['documents'] : [])].filter(
    (name) => !OURS.includes(name) && (titled || !inputs[operation].includes(name)),
  )
}

function isNothing(name: string, asked: Fields): boolean {
  const value = asked[name]
  if (value == null || (name === 'best_of' && value === (asked.n ?? 1))) return true
  return name in NOTHING && (NOTHING[name] === value || NOTHING[name] === JSON.stringify(value))
}
