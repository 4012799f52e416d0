/** The texts of system and developer messages, which are separate from the conversation. */

import { listOf, recordOf, textOf } from '../../../json/values.ts'
import type { ChatMessage } from '../../../wire/inner-form.ts'

/** All texts in order, with blank lines between them; empty if there are none. */
export function systemOf(messages: readonly ChatMessage[]): string {
  const instructions = messages.filter(isInstruction)
  if (isAnswered(messages)) instructions.pop()
  const texts = instructions.map(({ content }) => textIn(content))
  return texts.filter((text) => text !== '').join('\n\n')
}

/** Whether the last message is an instruction without a question before it: then it is the text to answer. */
function isAnswered(messages: readonly ChatMessage[]): boolean {
  const last = messages.at(-1)
  if (last === undefined || !isInstruction(last)) return false
  const before = messages.findLast((message) => !isInstruction(message))
  return before === undefined || before.role === 'assistant'
}

export function isInstruction({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer'
}

/** The text of a content that must contain nothing else. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = listOf(content).map(recordOf)
  return parts.map(({ text, refusal }) => textOf(text) ?? textOf(refusal) ?? '').join('')
}
