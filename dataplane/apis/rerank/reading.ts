/** Reads the body of a rerank request; the inner form has its members. */
import { checkFlag, checkModel, invalid } from '../../body/request.ts'
import { isRecord } from '../../json/values.ts'
import { inputTokens, inputTokensMax } from '../../tokens/count.ts'
import type { InputTokens, RerankBody, RerankRequest } from '../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../wire/reading.ts'
import { isWhole } from '../openai/inputs.ts'

export const RERANK = 'rerank'

/** The same limit as Cohere's. */
const DOCUMENTS_MAX = 10_000
const COUNT_MAX = 4_294_967_295

export const rerankReading: Reading<RerankRequest> = {
  members: new Set([
    'documents',
    'max_tokens_per_doc',
    'model',
    'query',
    'return_documents',
    'top_n',
  ]),
  request: requestOf,
}

function requestOf(tree: unknown, facts: BodyFacts): RerankRequest {
  // The next line checks the body.
  const body = tree as RerankBody
  checkShape(body)
  const texts = body.documents.map((one) => (typeof one === 'string' ? one : one.text))
  const tokens = pairTokens(body.query, texts, facts.sparse)
  // The bytes contain the query once.
  const length = facts.bytes.length + (texts.length - 1) * Buffer.byteLength(body.query)
  return {
    operation: 'rerank',
    wire: RERANK,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    items: texts.length,
    // Zero requests all of them, as at vLLM.
    wanted: Math.min(body.top_n || texts.length, texts.length),
    shown: body.return_documents === true ? texts : undefined,
    inputTokens: tokens,
    stream: false,
    maxTokens: undefined,
    choices: 1,
    promptTokensMax: inputTokensMax(body.query, { length }, tokens),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
  }
}

/** A model reads the query again with each document. */
function pairTokens(query: string, texts: readonly string[], sparse: boolean): InputTokens {
  const asked = inputTokens(query, sparse).sum
  const { sum, longest, longestAt } = inputTokens(texts, sparse)
  return { sum: sum + asked * texts.length, longest: longest + asked, longestAt }
}

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
function checkShape(body: RerankBody): void {
  const { model, query, top_n: wanted, return_documents: shows, max_tokens_per_doc: most } = body
  checkModel(model)
  if (typeof query !== 'string' || query === '')
    throw invalid('"query" must be a text that is not empty.', 'query')
  checkDocuments(body.documents)
  if (wanted != null && !isWhole(wanted, 0, COUNT_MAX))
    throw invalid('"top_n" must be a whole number; 0 asks for all documents.', 'top_n')
  checkFlag(shows, 'return_documents')
  if (most != null && !isWhole(most, 1, COUNT_MAX))
    throw invalid('"max_tokens_per_doc" must be a whole number from 1.', 'max_tokens_per_doc')
}

function checkDocuments(documents: unknown): void {
  if (!Array.isArray(documents) || documents.length === 0)
    throw invalid('"documents" must be a list of texts that is not empty.', 'documents')
  if (documents.length > DOCUMENTS_MAX) {
    const message = `"documents" may hold at most ${DOCUMENTS_MAX} texts; ${documents.length} were sent.`
    throw invalid(message, 'documents')
  }
  for (const [at, one] of documents.entries()) {
    const text: unknown = isRecord(one) ? one.text : one
    const param = `documents[${at}]`
    if (typeof text !== 'string' || text === '')
      throw invalid(`"${param}" must be a text that is not empty, or hold one as "text".`, param)
  }
}
