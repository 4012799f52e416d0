/**
 * A model's unfinished turn after tool calls. The model may continue to think only if its earlier thinking is
 * present.
 */
import { listOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import type { ThoughtsOf } from './thoughts.ts'

/** Messages of one side, joined as the API joins them. */
interface Side {
  readonly isModels: boolean
  readonly first: ChatMessage
  hasResult: boolean
}

/** Whether such a turn began without thinking, because it is lost or another model answered. */
export function lacksThoughts(messages: readonly ChatMessage[], thoughtsOf: ThoughtsOf): boolean {
  const sides = sidesOf(messages, thoughtsOf)
  let begin = sides.length - 2
  if (begin < 0 || !sides.at(-1)?.hasResult) return false
  // Words of the user beside results belong to that turn.
  while (begin >= 2 && sides[begin - 1]?.hasResult) begin -= 2
  const first = sides[begin]?.first
  return first !== undefined && thoughtsOf(first).length === 0
}

function sidesOf(messages: readonly ChatMessage[], thoughtsOf: ThoughtsOf): Side[] {
  const sides: Side[] = []
  for (const message of messages) {
    const { role, content } = message
    const isModels = role === 'assistant'
    if (isModels && saysNothing(content) && listOf(message.tool_calls).length === 0)
      if (thoughtsOf(message).length === 0) continue
    const last = sides.at(-1)
    if (last?.isModels === isModels) last.hasResult ||= role === 'tool'
    else sides.push({ isModels, first: message, hasResult: role === 'tool' })
  }
  return sides
}

/** Blank texts are omitted. */
function saysNothing(content: unknown): boolean {
  if (Array.isArray(content)) return content.length === 0
  return typeof content !== 'string' || content.trim() === ''
}
