/** The shape of a request for a response, as far as the gateway reads it, and what needs a memory that it lacks. */
import { invalid } from '../../../body/request.ts'
import { isRecord, recordOf } from '../../../json/values.ts'

const TOKENS_MAX = 100_000_000

export interface ResponsesBody {
  readonly model: string
  readonly input?: unknown
  readonly max_output_tokens?: number | null
  readonly stream?: boolean | null
  readonly [member: string]: unknown
}

/** Members that name something the API would have had to keep. */
const KEPT = ['previous_response_id', 'conversation', 'prompt', 'context_management'] as const
/** Members of other APIs: without a word they would have no effect. */
const FOREIGN = [
  'stop',
  'seed',
  'n',
  'logit_bias',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'messages',
  'max_tokens',
  'max_completion_tokens',
] as const

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function checkShape(body: ResponsesBody): void {
  const { model, input, stream, max_output_tokens: limit } = body
  if (typeof model !== 'string' || model === '')
    throw invalid('"model" must be the name of a route.', 'model')
  if (typeof input !== 'string' && !Array.isArray(input))
    throw invalid('"input" must be a text or an array of items.', 'input')
  if (input.length === 0 && typeof body.instructions !== 'string')
    throw invalid('"input" must not be empty.', 'input')
  if (stream != null && typeof stream !== 'boolean')
    throw invalid('"stream" must be true or false.', 'stream')
  if (limit != null && !(Number.isSafeInteger(limit) && limit >= 1 && limit <= TOKENS_MAX)) {
    const message = `"max_output_tokens" must be a whole number from 1 to ${TOKENS_MAX}.`
    throw invalid(message, 'max_output_tokens')
  }
  refuseMemory(body)
  for (const name of FOREIGN) {
    if (body[name] != null) throw invalid(`"${name}" does not exist in this API.`, name)
  }
}

function refuseMemory(body: ResponsesBody): void {
  for (const name of KEPT) {
    if (body[name] == null) continue
    throw invalid(`"${name}" needs responses that are stored, and this gateway stores none.`, name)
  }
  if (body.background === true)
    throw invalid('This gateway does not run responses in the background.', 'background')
  if (body.store === true)
    throw invalid('This gateway stores no responses; leave "store" out or send false.', 'store')
  const options: unknown = body.prompt_cache_options
  if (isRecord(options) && recordOf(options).comparison_response_id != null) {
    const param = 'prompt_cache_options.comparison_response_id'
    throw invalid(`"${param}" needs responses that are stored.`, param)
  }
}
