/**
 * Arguments of calls for runtimes that parse them and fail if they are no JSON object: a model may write others, and an
 * answer may be cut in the middle of them.
 */
import { isWithinBounds } from '../../../json/bounds.ts'
import { AT_ONCE_BYTES } from '../../../json/unwritten.ts'
import { isRecord, type Json, listOf, parsed, recordOf } from '../../../json/values.ts'
import type { ChatMessage } from '../../../wire/inner-form.ts'

/** The name of the part that the runtime does not get. */
export const ARGUMENTS = 'tool_calls.function.arguments'

/** Whether the runtime can parse the arguments of all calls. */
export function areObjects({ tool_calls: calls }: ChatMessage): boolean {
  return calls === undefined || listOf(calls).every((call) => hasObject(recordOf(call)))
}

/** Other arguments become an empty object, as at the APIs that have no texts for them. */
export function withObjects(message: ChatMessage): ChatMessage {
  const calls = listOf(message.tool_calls).map((raw) => {
    const call = recordOf(raw)
    if (hasObject(call)) return call
    return { ...call, function: { ...recordOf(call.function), arguments: '{}' } }
  })
  return { ...message, tool_calls: calls }
}

/** Long ones are judged by their ends, because parsing them takes long. */
function hasObject(call: Json): boolean {
  const { arguments: text } = recordOf(call.function)
  if (typeof text !== 'string' || text === '') return true
  const isLong = text.length > AT_ONCE_BYTES || !isWithinBounds(text)
  return isLong ? /^\s*\{/.test(text) && text.trimEnd().endsWith('}') : isRecord(parsed(text))
}
