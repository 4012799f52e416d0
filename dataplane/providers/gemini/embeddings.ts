/** Gemini's embeddings: batches at Google AI; on Vertex AI predictions, or one text a call for newer models. */

import { countOf, isRecord, type Json, listOf, parsedBytes, recordOf } from '../../json/values.ts'
import type { EmbeddingsAnswer, EmbeddingsRequest, Sent, Usage } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded, Failure, ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut } from '../../wire/unsupported.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { boundInputs, textsOf } from '../inputs.ts'
import { faultOf } from '../vectors.ts'
import { modelPath } from './address.ts'
import { isErrorBody } from './answers/answer.ts'
import { facts, vertexOf } from './facts.ts'

const TEXTS_MAX = 100
const TAKEN = new Set(['model', 'input', 'dimensions', 'encoding_format'])

/** A call of the API: its action and its body. */
interface EmbeddingsCall {
  readonly action: 'batchEmbedContents' | 'predict' | 'embedContent'
  readonly body: Json
}

export function embedCall(request: EmbeddingsRequest, settings: ProviderSettings): EmbeddingsCall {
  const { body, dimensions } = request
  const texts = textsOf(body, facts.name)
  const length = dimensions !== undefined && { outputDimensionality: dimensions }
  if (vertexOf(settings) === undefined) {
    boundInputs(texts, TEXTS_MAX, facts.name)
    // The path without its first character is the name.
    const model = modelPath(settings).slice(1)
    const requests = texts.map((text) => ({ model, content: contentOf(text), ...length }))
    return { action: 'batchEmbedContents', body: { requests } }
  }
  // A truncated text has another meaning.
  const parameters = { autoTruncate: false, ...length }
  if (settings.capabilities.vectors !== 'content') {
    const instances = texts.map((content) => ({ content }))
    return { action: 'predict', body: { instances, parameters } }
  }
  boundInputs(texts, 1, facts.name)
  const [text = ''] = texts
  return {
    action: 'embedContent',
    body: { content: contentOf(text), embedContentConfig: parameters },
  }
}

/** The members of the client's request that the API does not have. */
export function embedLeftOut({ body }: EmbeddingsRequest): string[] {
  return membersLeftOut(body, TAKEN, [])
}

function contentOf(text: string): Json {
  return { parts: [{ text }] }
}

export function readEmbeddings(
  body: Buffer,
  request: Sent<EmbeddingsRequest>,
  { model }: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<EmbeddingsAnswer> {
  const value = parsedBytes(body)
  if (isErrorBody(value)) return { kind: 'failure', failure: classifyError(recognisers, value) }
  const answer = recordOf(value)
  const embeddings = embeddingsIn(answer)
  const vectors = embeddings.map(({ values }) => values)
  const fault = faultOf(vectors, request) ?? notLists(vectors)
  if (fault !== undefined) return { kind: 'failure', failure: fault }
  // Each entry is a list of numbers.
  const read = { model, vectors: vectors as readonly (readonly number[])[] }
  return { kind: 'answer', answer: read, usage: usageOf(answer, embeddings) }
}

function embeddingsIn({ embeddings, embedding, predictions }: Json): Json[] {
  if (isRecord(embedding)) return [embedding]
  const predicted = listOf(predictions).map((one) => recordOf(one).embeddings)
  return [...listOf(embeddings), ...predicted].map(recordOf)
}

function notLists(vectors: readonly unknown[]): Failure | undefined {
  return vectors.every(Array.isArray)
    ? undefined
    : malformed("The upstream's vectors are not lists of numbers.")
}

/** undefined unless the API reports all texts; most of its models do not. */
function usageOf({ usageMetadata }: Json, embeddings: readonly Json[]): Usage | undefined {
  const whole = countOf(recordOf(usageMetadata).promptTokenCount)
  const each = embeddings.map(({ statistics }) => countOf(recordOf(statistics).token_count))
  const isCounted = each.every((count) => count !== undefined)
  const promptTokens =
    whole ?? (isCounted ? each.reduce((sum, count) => sum + count, 0) : undefined)
  if (promptTokens === undefined) return undefined
  const others = { completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 }
  return { promptTokens, ...others, estimated: false }
}
