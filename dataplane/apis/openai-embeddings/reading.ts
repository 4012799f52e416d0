/** Reads the body of an embeddings request; the inner form has its members. */
import { checkModel, invalid } from '../../body/request.ts'
import { EMBEDDINGS_MEMBERS } from '../../guardrails/forms/texts.ts'
import { EXTRA_MEMBERS, extrasOf } from '../../providers/extras/asked.ts'
import { inputsIn, inputTokens, inputTokensMax } from '../../tokens/count.ts'
import type { EmbeddingsBody, EmbeddingsRequest } from '../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../wire/reading.ts'
import { checkInputs, isWhole } from '../openai/inputs.ts'

export const OPENAI_EMBEDDINGS = 'openai-embeddings'

const DIMENSIONS_MAX = 65_536

export const embeddingsReading: Reading<EmbeddingsRequest> = {
  members: new Set([...EMBEDDINGS_MEMBERS, ...EXTRA_MEMBERS, 'dimensions']),
  request: requestOf,
}

function requestOf(tree: unknown, facts: BodyFacts): EmbeddingsRequest {
  // The next line checks the body.
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
    items: inputsIn(body.input),
    dimensions: body.dimensions ?? undefined,
    format: body.encoding_format ?? 'float',
    inputTokens: tokens,
    stream: false,
    maxTokens: undefined,
    choices: 1,
    promptTokensMax: inputTokensMax(body.input, facts.bytes, tokens),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    extras: extrasOf(body),
  }
}

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
function checkShape(body: EmbeddingsBody): void {
  const { model, dimensions, encoding_format: format } = body
  checkModel(model)
  checkInputs(body.input, 'input', false)
  if (dimensions != null && !isWhole(dimensions, 1, DIMENSIONS_MAX)) {
    throw invalid(`"dimensions" must be a whole number from 1 to ${DIMENSIONS_MAX}.`, 'dimensions')
  }
  if (format != null && format !== 'float' && format !== 'base64')
    throw invalid('"encoding_format" must be "float" or "base64".', 'encoding_format')
}
