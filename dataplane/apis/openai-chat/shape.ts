/** The shape of a chat completion, as far as the gateway reads it. */

import { checkFlag, checkModel, invalid } from '../../body/request.ts'
import { isRecord } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import { saysNoLimit } from '../openai/no-limit.ts'

const TOKENS_MAX = 100_000_000
const CHOICES_MAX = 128

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function checkShape(body: ChatBody): void {
  const { model, messages, stream, stream_options: options } = body
  checkModel(model)
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid('"messages" must be an array of at least one message.', 'messages')
  }
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (!isRecord(message) || typeof message.role !== 'string') {
      throw invalid(
        `"messages[${index}]" must be an object with a "role".`,
        `messages[${index}].role`,
      )
    }
    checkContent(message.content, index)
  }
  checkFlag(stream, 'stream')
  if (options != null && !isRecord(options))
    throw invalid('"stream_options" must be an object.', 'stream_options')
  checkLimit(body, 'max_tokens')
  checkLimit(body, 'max_completion_tokens')
  checkCount(body, 'n', CHOICES_MAX)
}

function checkContent(content: unknown, index: number): void {
  if (content == null || typeof content === 'string' || Array.isArray(content)) return
  const param = `messages[${index}].content`
  throw invalid(`"${param}" must be a string or an array of parts.`, param)
}

function checkLimit(body: ChatBody, member: string): void {
  if (!saysNoLimit(body[member], 1)) checkCount(body, member, TOKENS_MAX)
}

/** JSON has no bounds on numbers: 1e999 is Infinity and -1 is a number. */
function checkCount(body: ChatBody, member: string, most: number): void {
  const value = body[member]
  if (value == null) return
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > most) {
    throw invalid(`"${member}" must be a whole number from 1 to ${most}.`, member)
  }
}
