/** Embeddings through Ollama's own API: a list of texts returns a list of vectors. */

import { countOf, isRecord, type Json, listOf, parsedBytes, textOf } from '../../json/values.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest, Sent } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded, ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut } from '../../wire/unsupported.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { textsOf } from '../inputs.ts'
import { faultOf } from '../vectors.ts'
import { facts } from './facts.ts'

const TAKEN = new Set(['model', 'input', 'dimensions', 'encoding_format'])

export function embedRequest(
  { body, dimensions }: EmbeddingsRequest,
  { model, contextWindow }: ProviderSettings,
): Json {
  return {
    model,
    input: textsOf(body, facts.name),
    // Otherwise Ollama truncates long texts to its window without an error.
    truncate: false,
    ...(dimensions !== undefined && { dimensions }),
    ...(contextWindow !== undefined && { options: { num_ctx: contextWindow } }),
  }
}

export function embedLeftOut({ body }: EmbeddingsRequest): string[] {
  return membersLeftOut(body, TAKEN, [])
}

export function readEmbeddings(
  body: Buffer,
  request: Sent<EmbeddingsRequest>,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<EmbeddingsAnswer> {
  const answer = parsedBytes(body)
  if (!isRecord(answer)) {
    return { kind: 'failure', failure: malformed('The upstream answered without vectors.') }
  }
  if (isError(answer)) return { kind: 'failure', failure: classifyError(recognisers, answer) }
  const vectors = listOf(answer.embeddings)
  const isText = vectors.some((vector) => typeof vector === 'string')
  const fault = isText
    ? malformed('The upstream answered with texts instead of vectors.')
    : faultOf(vectors, request)
  if (fault !== undefined) return { kind: 'failure', failure: fault }
  const promptTokens = countOf(answer.prompt_eval_count)
  const usage = promptTokens === undefined ? undefined : { ...NO_USAGE, promptTokens }
  // Each entry is a list of numbers.
  const model = textOf(answer.model) ?? origin.model
  const read = { model, vectors: vectors as readonly (readonly number[])[] }
  return { kind: 'answer', answer: read, usage }
}

const NO_USAGE = { completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, estimated: false }
