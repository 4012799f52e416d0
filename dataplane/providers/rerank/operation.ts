/** Reranking in the wire that Cohere and the runtimes share. */

import { bodyOf } from '../../json/unwritten.ts'
import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedBytes,
  recordOf,
  textOf,
} from '../../json/values.ts'
import type {
  RankedDocument,
  RerankAnswer,
  RerankBody,
  RerankRequest,
  Sent,
  Usage,
} from '../../wire/inner-form.ts'
import type {
  AnswerOrigin,
  Decoded,
  ProviderOperation,
  ProviderSettings,
} from '../../wire/provider.ts'
import { membersLeftOut } from '../../wire/unsupported.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { bearer } from '../openai-like/provider.ts'

/** The gateway itself adds documents to an answer. */
const TAKEN = new Set([
  'documents',
  'max_tokens_per_doc',
  'model',
  'query',
  'return_documents',
  'top_n',
])

/** More names are not shown. */
const NAMES_MAX = 32

export interface RerankOptions {
  /** Hints that the runtime ignores. */
  readonly ignores?: readonly string[]
  /** Members for every request. */
  readonly always?: Readonly<Record<string, unknown>>
}

export function rerankOf(
  recognisers: readonly Recogniser[],
  { ignores = [], always = {} }: RerankOptions = {},
): ProviderOperation<'rerank'> {
  const taken = TAKEN.difference(new Set(ignores))
  return {
    encode({ body, bytes }, settings) {
      const lost = besideTexts(body)
      return {
        path: '/rerank',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...bearer(settings),
        },
        body: bodyOf({ ...sentOf(body, settings, taken), ...always }, bytes),
        leftOut: membersLeftOut(body, taken, []),
        ...(lost.length > 0 && { lost }),
      }
    },
    decode: (body, request, origin) => readAnswer(body, request, origin, recognisers),
  }
}

function sentOf(body: RerankBody, { model }: ProviderSettings, taken: ReadonlySet<string>): object {
  const { query, top_n: wanted, max_tokens_per_doc: most } = body
  return {
    model,
    query,
    documents: body.documents.map((one) => (typeof one === 'string' ? one : one.text)),
    // Some servers refuse zero, which requests all.
    ...(wanted && { top_n: wanted }),
    ...(most && taken.has('max_tokens_per_doc') && { max_tokens_per_doc: most }),
  }
}

/** Members of documents beside their texts, which models do not read. */
function besideTexts({ documents }: RerankBody): string[] {
  const names = new Set<string>()
  for (const one of documents) {
    if (names.size >= NAMES_MAX) break
    if (typeof one !== 'string')
      for (const name of Object.keys(one)) if (name !== 'text') names.add(`documents.${name}`)
  }
  return [...names]
}

function readAnswer(
  body: Buffer,
  request: Sent<RerankRequest>,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<RerankAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && (isError(answer) || typeof answer.message === 'string'))
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  const { id, model, results, usage, meta } = Array.isArray(answer)
    ? bareOf(answer)
    : recordOf(answer)
  const ranking = rankingOf(listOf(results), request)
  if (typeof ranking === 'string') return { kind: 'failure', failure: malformed(ranking) }
  const searchUnits = countOf(recordOf(recordOf(meta).billed_units).search_units)
  const read = {
    id: textOf(id) ?? origin.id,
    model: textOf(model) ?? origin.model,
    ranking,
    searchUnits,
  }
  return { kind: 'answer', answer: read, usage: usageOf(recordOf(usage), recordOf(meta), request) }
}

/** Only the order, with the tokens of each document. */
function bareOf(answer: readonly unknown[]): Json {
  const all = answer.map(recordOf)
  const counts = all.map(({ meta_info: meta }) => countOf(recordOf(meta).prompt_tokens))
  const isCounted = counts.every((count) => count !== undefined)
  const prompt_tokens = isCounted ? counts.reduce((sum, count) => sum + count, 0) : undefined
  const results = all.map(({ index, score }) => ({ index, relevance_score: score }))
  return { results, usage: { prompt_tokens } }
}

/** The most relevant first, as many as requested; a fault if the results are no valid order. */
function rankingOf(
  results: readonly unknown[],
  { items, wanted }: Sent<RerankRequest>,
): readonly RankedDocument[] | string {
  if (results.length < wanted || results.length > items)
    return `The upstream answered with ${results.length} results; ${wanted} of ${items} documents were asked for.`
  const ranking: RankedDocument[] = []
  const seen = new Set<number>()
  for (const { index, relevance_score: score } of results.map(recordOf)) {
    const place = countOf(index)
    if (place === undefined || place >= items || seen.has(place))
      return 'The upstream numbered its results wrongly.'
    if (!Number.isFinite(score)) return 'The upstream left out the score of a document.'
    seen.add(place)
    // A finite value is a number.
    ranking.push({ index: place, score: score as number })
  }
  return ranking
    .sort((one, other) => other.score - one.score || one.index - other.index)
    .slice(0, wanted)
}

/** An upstream that bills searches need not report tokens. */
function usageOf(usage: Json, meta: Json, request: Sent<RerankRequest>): Usage | undefined {
  const searches = countOf(recordOf(meta.billed_units).search_units)
  const reported =
    countOf(usage.prompt_tokens) ??
    countOf(usage.total_tokens) ??
    countOf(recordOf(meta.tokens).input_tokens)
  if (reported === undefined && searches === undefined) return undefined
  return {
    promptTokens: reported ?? request.inputTokens.sum,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    ...(searches !== undefined && { searches }),
    estimated: reported === undefined,
  }
}
