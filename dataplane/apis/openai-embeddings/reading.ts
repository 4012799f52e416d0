/** Reads the body of an embeddings request; the inner form has its members. */
import { type BodyFacts, invalid, type Reading } from '../../body/request.ts'
import type { EmbeddingsBody, EmbeddingsRequest } from '../../inner-form.ts'
import { holdsTokens, inputTokens } from '../../tokens/count.ts'

export const OPENAI_EMBEDDINGS = 'openai-embeddings'

/** As many as OpenAI takes. */
const ITEMS_MAX = 2_048
const DIMENSIONS_MAX = 65_536
const TOKEN_MAX = 4_294_967_295
const BYTES_PER_TOKEN_MIN = 3

export const embeddingsReading: Reading<EmbeddingsRequest> = {
  members: new Set(['dimensions', 'encoding_format', 'input', 'model', 'user']),
  request: requestOf,
}

function requestOf(tree: unknown, facts: BodyFacts): EmbeddingsRequest {
  // The next line checks it; until then only the name of the type is claimed.
  const body = tree as EmbeddingsBody
  checkShape(body)
  const tokens = inputTokens(body.input, facts.sparse)
  return {
    operation: 'embeddings',
    wire: OPENAI_EMBEDDINGS,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    items: itemsOf(body.input),
    dimensions: body.dimensions ?? undefined,
    format: body.encoding_format ?? 'float',
    inputTokens: tokens,
    stream: false,
    maxTokens: undefined,
    choices: 1,
    promptTokensMax: holdsTokens(body.input) ? tokens.sum : textTokensMax(facts, tokens.sum),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
  }
}

/** Dense text has fewer bytes to a token than the estimate says. */
function textTokensMax({ bytes }: BodyFacts, estimate: number): number {
  return Math.max(estimate, Math.ceil(bytes.length / BYTES_PER_TOKEN_MIN))
}

function itemsOf(input: EmbeddingsBody['input']): number {
  return typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length
}

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
function checkShape(body: EmbeddingsBody): void {
  const { model, dimensions, encoding_format: format } = body
  if (typeof model !== 'string' || model === '')
    throw invalid('"model" must be the name of a route.', 'model')
  checkInput(body.input)
  if (dimensions != null && !isCount(dimensions, 1, DIMENSIONS_MAX)) {
    throw invalid(`"dimensions" must be a whole number from 1 to ${DIMENSIONS_MAX}.`, 'dimensions')
  }
  if (format != null && format !== 'float' && format !== 'base64')
    throw invalid('"encoding_format" must be "float" or "base64".', 'encoding_format')
}

function checkInput(input: unknown): void {
  if (typeof input === 'string' ? input === '' : !Array.isArray(input) || input.length === 0) {
    throw invalid('"input" must be a text, a list of texts or lists of tokens; not empty.', 'input')
  }
  if (typeof input === 'string') return
  const list = input as readonly unknown[]
  if (typeof list[0] === 'number') {
    checkTokens(list, 'input')
    return
  }
  if (list.length > ITEMS_MAX) {
    const sent = `${list.length} were sent`
    throw invalid(`"input" may hold at most ${ITEMS_MAX} texts; ${sent}.`, 'input')
  }
  const isText = typeof list[0] === 'string'
  for (const [at, one] of list.entries()) {
    const param = `input[${at}]`
    if (isText) {
      if (typeof one !== 'string')
        throw invalid(`"${param}" must be a text, as the first is.`, param)
      if (one === '') throw invalid(`"${param}" is an empty text.`, param)
    } else checkTokens(one, param)
  }
}

function checkTokens(list: unknown, param: string): void {
  if (!Array.isArray(list) || list.length === 0)
    throw invalid(`"${param}" must be a text or a list of tokens; not empty.`, param)
  if (!list.every((token) => isCount(token, 0, TOKEN_MAX)))
    throw invalid(`"${param}" must hold tokens alone: whole numbers from 0.`, param)
}

function isCount(value: unknown, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
}
