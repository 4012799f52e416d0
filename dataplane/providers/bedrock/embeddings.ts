/** Embeddings through InvokeModel. The models have no common wire, so each family has its own. */

import { valuesMaxOf } from '../../json/bounds.ts'
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
import type { AnswerOrigin, Decoded, ProviderSettings } from '../../wire/provider.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { isError } from '../failures/bodies.ts'
import { malformed } from '../failures/classify.ts'
import { boundInputs, textsOf } from '../inputs.ts'
import { faultOf } from '../vectors.ts'
import { classifyException } from './errors.ts'
import { facts } from './facts.ts'

const TEXTS_MAX = 96
/** Cohere's models require a purpose in each call; most texts are stored for a search. */
const INPUT_TYPE = 'search_document'

/** A client may set `input_type` itself. */
export function embeddingsRequest(
  request: EmbeddingsRequest,
  { capabilities, inputType = INPUT_TYPE }: ProviderSettings,
): Json {
  const texts = textsOf(request.body, facts.name)
  const { vectors, sizesVectors = true } = capabilities
  if (request.dimensions !== undefined && !sizesVectors) throw unsupported(facts.name, 'dimensions')
  if (vectors !== 'purpose') return titanRequest(request, texts)
  return cohereRequest(request, texts, textOf(request.body.input_type) ?? inputType)
}

function titanRequest({ dimensions }: EmbeddingsRequest, texts: readonly string[]): Json {
  boundInputs(texts, 1, facts.name)
  return { inputText: texts[0], ...(dimensions !== undefined && { dimensions }) }
}

function cohereRequest(
  { dimensions }: EmbeddingsRequest,
  texts: readonly string[],
  purpose: string,
): Json {
  boundInputs(texts, TEXTS_MAX, facts.name)
  return {
    texts,
    input_type: purpose,
    embedding_types: ['float'],
    // A truncated text has another meaning.
    truncate: 'NONE',
    ...(dimensions !== undefined && { output_dimension: dimensions }),
  }
}

/** The answers of the families differ only in form, so the form decides how to read them. */
export function readEmbeddings(
  body: Buffer,
  request: Sent<EmbeddingsRequest>,
  { model }: AnswerOrigin,
): Decoded<EmbeddingsAnswer> {
  const answer = parsedBytes(body, { valuesMax: valuesMaxOf(request.items) })
  if (isRecord(answer) && (isError(answer) || textOf(answer.message) !== undefined)) {
    return { kind: 'failure', failure: classifyException(body.toString()) }
  }
  const { embedding, embeddings, inputTextTokenCount } = recordOf(answer)
  const several = isRecord(embeddings) ? embeddings.float : embeddings
  const vectors = Array.isArray(embedding) ? [embedding] : listOf(several)
  const isOther = vectors.some((vector) => !Array.isArray(vector))
  const fault = isOther
    ? malformed('The upstream answered without vectors.')
    : faultOf(vectors, request)
  if (fault !== undefined) return { kind: 'failure', failure: fault }
  // Each entry is a list of numbers.
  const read = { model, vectors: vectors as readonly (readonly number[])[] }
  return { kind: 'answer', answer: read, usage: usageOf(inputTextTokenCount) }
}

/** Only Titan reports the count in the body. */
function usageOf(count: unknown): Usage | undefined {
  const promptTokens = countOf(count)
  if (promptTokens === undefined) return undefined
  const others = { completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 }
  return { promptTokens, ...others, estimated: false }
}
