/** The shape of a request for a response, as far as the gateway reads it, and its use of stored state. */
import { checkFlag, checkModel, invalid } from '../../../body/request.ts'
import { isRecord, recordOf } from '../../../json/values.ts'

const TOKENS_MAX = 100_000_000

export interface ResponsesBody {
  readonly model: string
  readonly input?: unknown
  readonly max_output_tokens?: number | null
  readonly stream?: boolean | null
  readonly [member: string]: unknown
}

/** How a request uses stored responses. */
export interface StateUse {
  /** The member that requires stored state, and the refusal of a route that stores nothing. */
  readonly param: string
  readonly message: string
  /** The id of the previous response. */
  readonly previous?: string
  /** The id of the conversation. */
  readonly conversation?: string
  /** Whether it continues after the client disconnects. */
  readonly isBackground: boolean
}

/** Members that name stored objects of an account, because the gateway could not separate tenants. */
const NOWHERE = ['prompt', 'context_management'] as const
const STORED = 'needs responses that are stored, and this gateway stores none.'
const NO_BACKGROUND = 'This gateway does not run responses in the background.'
const NO_STORE = 'This gateway stores no responses; leave "store" out or send false.'
/** Members of other APIs, which would silently have no effect. */
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
  checkModel(model)
  if (typeof input !== 'string' && !Array.isArray(input))
    throw invalid('"input" must be a text or an array of items.', 'input')
  if (input.length === 0 && typeof body.instructions !== 'string')
    throw invalid('"input" must not be empty.', 'input')
  checkFlag(stream, 'stream')
  if (limit != null && !(Number.isSafeInteger(limit) && limit >= 1 && limit <= TOKENS_MAX)) {
    const message = `"max_output_tokens" must be a whole number from 1 to ${TOKENS_MAX}.`
    throw invalid(message, 'max_output_tokens')
  }
  for (const name of FOREIGN) {
    if (body[name] != null) throw invalid(`"${name}" does not exist in this API.`, name)
  }
}

/** The first member that requires stored responses, if any. Throws for members that no route supports. */
export function stateOf(body: ResponsesBody): StateUse | undefined {
  for (const name of NOWHERE) {
    if (body[name] == null) continue
    throw invalid(`"${name}" ${STORED}`, name)
  }
  const options: unknown = body.prompt_cache_options
  if (isRecord(options) && recordOf(options).comparison_response_id != null) {
    const param = 'prompt_cache_options.comparison_response_id'
    throw invalid(`"${param}" needs responses that are stored.`, param)
  }
  const { previous_response_id: previous, background, store, stream } = body
  const isBackground = background === true
  if (isBackground && stream === true)
    throw invalid(
      'Send "background" without "stream", and ask for the response by its id.',
      'stream',
    )
  if (body.conversation != null) return conversationOf(body, isBackground)
  if (previous != null) {
    const param = 'previous_response_id'
    if (typeof previous !== 'string') throw invalid(`"${param}" must be a text.`, param)
    return { param, message: `"${param}" ${STORED}`, previous, isBackground }
  }
  if (isBackground) return { param: 'background', message: NO_BACKGROUND, isBackground }
  return store === true ? { param: 'store', message: NO_STORE, isBackground } : undefined
}

function conversationOf(body: ResponsesBody, isBackground: boolean): StateUse {
  const param = 'conversation'
  if (body.previous_response_id != null)
    throw invalid(`Send "${param}" or "previous_response_id", not both.`, param)
  const asked = body.conversation
  const conversation = isRecord(asked) ? asked.id : asked
  if (typeof conversation !== 'string')
    throw invalid(`"${param}" must be an id, or an object with one.`, param)
  return { param, message: `"${param}" ${STORED}`, conversation, isBackground }
}
