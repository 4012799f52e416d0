/** The shape of a message request, as far as the gateway reads it. */
import { checkFlag, checkModel, invalid } from '../../body/request.ts'
import { isRecord } from '../../json/values.ts'

const TOKENS_MAX = 100_000_000
const ROLES: readonly unknown[] = ['user', 'assistant', 'system']

export interface MessagesBody {
  readonly model: string
  readonly messages: readonly unknown[]
  readonly max_tokens?: number | null
  readonly stream?: boolean | null
  readonly [member: string]: unknown
}

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function checkShape(body: MessagesBody): void {
  const { model, messages, max_tokens: limit, stream } = body
  checkModel(model)
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('"messages" must be an array of at least one message.', 'messages')
  messages.forEach(checkMessage)
  checkFlag(stream, 'stream')
  if (limit != null && (!Number.isSafeInteger(limit) || limit < 0 || limit > TOKENS_MAX))
    throw invalid(`"max_tokens" must be a whole number from 0 to ${TOKENS_MAX}.`, 'max_tokens')
  checkContent(body.system ?? '', 'system')
  checkOptions(body)
}

const NUMBERS = ['temperature', 'top_p', 'top_k']
const LISTS = ['stop_sequences', 'tools']
const OBJECTS = ['metadata', 'output_config', 'thinking', 'tool_choice']

/** A translation would leave out an option of another type without a word. */
function checkOptions(body: MessagesBody): void {
  const check = (
    members: readonly string[],
    isRight: (value: unknown) => boolean,
    what: string,
  ) => {
    for (const member of members) {
      const { [member]: value } = body
      if (value != null && !isRight(value)) throw invalid(`"${member}" must be ${what}.`, member)
    }
  }
  check(NUMBERS, Number.isFinite, 'a number')
  check(LISTS, Array.isArray, 'an array')
  check(OBJECTS, isRecord, 'an object')
}

function checkMessage(message: unknown, index: number): void {
  const param = `messages.${index}`
  if (!isRecord(message) || !ROLES.includes(message.role))
    throw invalid(`"${param}" must be an object with the role user or assistant.`, `${param}.role`)
  checkContent(message.content, `${param}.content`)
}

function checkContent(content: unknown, param: string): void {
  if (typeof content === 'string') return
  if (Array.isArray(content) && content.every(isBlock)) return
  throw invalid(`"${param}" must be a string or an array of blocks with a "type".`, param)
}

function isBlock(block: unknown): boolean {
  return isRecord(block) && typeof block.type === 'string'
}
