/** Embeddings in OpenAI's wire: bytes pass if the upstream's answer has the requested form. */

import { valuesMaxOf } from '../../json/bounds.ts'
import type { Change } from '../../json/edit.ts'
import { memberOf } from '../../json/unwritten.ts'
import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedBytes,
  recordOf,
  textOf,
} from '../../json/values.ts'
import { fromBase64, toBase64 } from '../../json/vectors.ts'
import type {
  EmbeddingsAnswer,
  EmbeddingsRequest,
  Sent,
  Usage,
  VectorFormat,
} from '../../wire/inner-form.ts'
import type {
  Decoded,
  Failure,
  Headers,
  Passed,
  ProviderOperation,
  ProviderSettings,
  UpstreamRequest,
} from '../../wire/provider.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed } from '../failures/classify.ts'
import { refuseTokens } from '../inputs.ts'
import { faultOf } from '../vectors.ts'
import { factsOf } from './answer.ts'
import type { EmbeddingsOptions, OpenAiLike } from './options.ts'
import { inWire, leaveOut } from './request.ts'

type Vector = string | readonly number[]

/** Name of this wire; dialects of clients have the same name. */
const WIRE = 'openai-embeddings'
const PATH = '/embeddings'

export function embeddingsOf(
  provider: string,
  options: OpenAiLike,
  own: EmbeddingsOptions,
  headersOf: (settings: ProviderSettings) => { readonly whole: Headers },
): ProviderOperation<'embeddings'> {
  const read = (body: Buffer, request: Sent<EmbeddingsRequest>) =>
    readAnswer(body, request, options)
  return {
    encode(request, settings) {
      if (!own.takesTokens) refuseTokens(request.body, provider)
      return {
        path: options.path?.(settings, PATH) ?? PATH,
        headers: headersOf(settings).whole,
        ...encodeBody(request, options.model?.(settings) ?? settings.model, {
          ...own,
          own: options.own,
        }),
      }
    },
    decode(body, request, { model }) {
      const answer = read(body, request)
      return answer.kind === 'failure' ? answer : decoded(answer, model)
    },
    sameWire: {
      wire: WIRE,
      decode(body, request) {
        const answer = read(body, request)
        return answer.kind === 'failure' ? answer : passed(answer, body, request)
      },
    },
  }
}

function encodeBody(
  request: EmbeddingsRequest,
  model: string,
  options: EmbeddingsOptions & Pick<OpenAiLike, 'own'>,
): Pick<UpstreamRequest, 'body' | 'leftOut'> {
  const { names, changed } = inWire(WIRE, request)
  const edits = new Map<string, Change>()
  if (request.body.model !== model) edits.set('model', JSON.stringify(model))
  for (const [name, value] of Object.entries(options.rewrite?.(request) ?? {})) {
    edits.set(name, memberOf(value, request.bytes))
  }
  const leftOut = leaveOut(edits, names, request.omitted, options)
  return { body: changed(edits), leftOut }
}

interface CheckedVectors {
  readonly kind: 'answer'
  readonly json: Json
  /** The vectors in the order of the inputs. */
  readonly entries: readonly Json[]
  readonly vectors: readonly Vector[]
  /** Whether the entries arrived in that order. */
  readonly isOrdered: boolean
  readonly usage: Usage | undefined
}

type Failed = { readonly kind: 'failure'; readonly failure: Failure }

function readAnswer(
  body: Buffer,
  request: Sent<EmbeddingsRequest>,
  { recognisers }: OpenAiLike,
): CheckedVectors | Failed {
  const json = parsedBytes(body, { valuesMax: valuesMaxOf(request.items) })
  if (!isRecord(json)) return failed("The upstream's answer is not a JSON object.")
  if (isError(json)) return { kind: 'failure', failure: classifyError(recognisers, json) }
  const came = listOf(json.data).map(recordOf)
  const isOrdered = came.every(({ index }, place) => index === place)
  const entries = isOrdered ? came : inOrder(came)
  if (entries === undefined) return failed('The upstream numbered its embeddings wrongly.')
  const vectors = entries.map(({ embedding }) => embedding)
  const fault = faultOf(vectors, request)
  if (fault !== undefined) return { kind: 'failure', failure: fault }
  const usage = usageOf(json.usage)
  // The check has refused all other values.
  return { kind: 'answer', json, entries, vectors: vectors as Vector[], isOrdered, usage }
}

/** By index, where each index must occur once; without indices, in the order of arrival. */
function inOrder(came: readonly Json[]): readonly Json[] | undefined {
  if (came.every(({ index }) => index === undefined || index === null)) return came
  const ordered: Json[] = []
  for (const entry of came) ordered[countOf(entry.index) ?? came.length] = entry
  const isWhole = ordered.length === came.length && !ordered.includes(undefined as never)
  return isWhole ? ordered : undefined
}

function usageOf(usage: unknown): Usage | undefined {
  const { prompt_tokens: prompt, total_tokens: total } = recordOf(usage)
  const promptTokens = countOf(prompt) ?? countOf(total)
  if (promptTokens === undefined) return undefined
  return {
    promptTokens,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}

function decoded(
  { json, vectors, usage }: CheckedVectors,
  model: string,
): Decoded<EmbeddingsAnswer> {
  const numbers: ArrayLike<number>[] = []
  for (const vector of vectors) {
    const one = typeof vector === 'string' ? fromBase64(vector) : vector
    if (one === undefined) return failed("The upstream's answer has no valid vectors.")
    numbers.push(one)
  }
  return { kind: 'answer', answer: { model: textOf(json.model) ?? model, vectors: numbers }, usage }
}

function passed(
  answer: CheckedVectors,
  body: Buffer,
  { format, inputTokens }: Sent<EmbeddingsRequest>,
): Passed {
  const { json, entries, vectors, isOrdered, usage } = answer
  const isAsked = (vector: Vector) => (typeof vector === 'string') === (format === 'base64')
  const { prompt_tokens, total_tokens } = recordOf(json.usage)
  const isCounted = countOf(prompt_tokens) !== undefined && countOf(total_tokens) !== undefined
  const facts = factsOf(json)
  if (isOrdered && isCounted && vectors.every(isAsked)) return { kind: 'body', body, usage, facts }
  const data: Json[] = []
  for (const [index, vector] of vectors.entries()) {
    const embedding = isAsked(vector) ? vector : rewritten(vector, format)
    if (embedding === undefined) return failed("The upstream's answer has no valid vectors.")
    data.push({ ...entries[index], index, embedding })
  }
  // Clients read the usage without a check.
  const tokens = usage?.promptTokens ?? inputTokens.sum
  const counts = { prompt_tokens: tokens, total_tokens: tokens }
  const written = { ...json, data, usage: isCounted ? json.usage : counts }
  return { kind: 'body', body: JSON.stringify(written), usage, facts }
}

function rewritten(vector: Vector, format: VectorFormat): Vector | undefined {
  if (typeof vector !== 'string') return format === 'base64' ? toBase64(vector) : vector
  const floats = fromBase64(vector)
  return floats === undefined ? undefined : Array.from(floats)
}

function failed(message: string): Failed {
  return { kind: 'failure', failure: malformed(message) }
}
