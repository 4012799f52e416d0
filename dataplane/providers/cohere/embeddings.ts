/** Cohere's Embed API. */

import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedBytes,
  recordOf,
  textOf,
} from '../../json/values.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest, Sent, Usage } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded, Failure, ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut } from '../../wire/unsupported.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { boundInputs, textsOf } from '../inputs.ts'
import { faultOf } from '../vectors.ts'
import { facts } from './facts.ts'

const TEXTS_MAX = 96
/** The API requires a purpose in each call; most texts are stored for a search. */
const INPUT_TYPE = 'search_document'

const TAKEN = new Set(['model', 'input', 'dimensions', 'encoding_format', 'input_type'])

/** The members of the client's request that the API does not have. */
export function embedLeftOut({ body }: EmbeddingsRequest): string[] {
  return membersLeftOut(body, TAKEN, [])
}

/** A client of this API may set `input_type` itself. */
export function embedRequest(
  { body, dimensions }: EmbeddingsRequest,
  { model, inputType }: ProviderSettings,
): Json {
  const texts = textsOf(body, facts.name)
  boundInputs(texts, TEXTS_MAX, facts.name)
  return {
    model,
    texts,
    input_type: textOf(body.input_type) ?? inputType ?? INPUT_TYPE,
    embedding_types: ['float'],
    // A truncated text has another meaning.
    truncate: 'NONE',
    ...(dimensions !== undefined && { output_dimension: dimensions }),
  }
}

export function readEmbeddings(
  body: Buffer,
  request: Sent<EmbeddingsRequest>,
  { model }: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<EmbeddingsAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && (isError(answer) || typeof answer.message === 'string')) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  const { embeddings, meta } = recordOf(answer)
  const vectors = listOf(recordOf(embeddings).float)
  const fault = faultOf(vectors, request) ?? notNumbers(vectors)
  if (fault !== undefined) return { kind: 'failure', failure: fault }
  // Each entry is a list of numbers.
  const read = { model, vectors: vectors as readonly (readonly number[])[] }
  return { kind: 'answer', answer: read, usage: usageOf(meta) }
}

function notNumbers(vectors: readonly unknown[]): Failure | undefined {
  if (vectors.every((vector) => typeof vector !== 'string')) return undefined
  return malformed("The upstream's vectors are not lists of numbers.")
}

function usageOf(meta: unknown): Usage | undefined {
  const promptTokens = countOf(recordOf(recordOf(meta).billed_units).input_tokens)
  if (promptTokens === undefined) return undefined
  const others = { completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 }
  return { promptTokens, ...others, estimated: false }
}
