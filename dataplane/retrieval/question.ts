/** The question of a conversation: the text of its last message of the user. */

import { listOf, recordOf, textOf } from '../json/values.ts'
import type { ChatBody } from '../wire/inner-form.ts'

export interface Question {
  readonly text: string
  /** Index of the message. */
  readonly at: number
}

/** undefined if the last message of the user has no text. */
export function questionOf({ messages }: Pick<ChatBody, 'messages'>): Question | undefined {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const text = wordsOf(messages[at]?.content)
  return text.trim() === '' ? undefined : { text, at }
}

function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content
  const texts = listOf(content).flatMap((part) => textOf(recordOf(part).text) ?? [])
  return texts.join('\n')
}
