/** The texts of a conversation in the form of most open models' templates, and the tokens around them. */

import { listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatMessage } from '../../wire/inner-form.ts'
import { imageTokens } from './images.ts'
import type { PromptTexts } from './prompt-texts.ts'

/** Templates add a token before the role and one after it, a line end, and a token after the content. */
const PER_MESSAGE = 4
/** The tokens around the role of the answer. */
const BEFORE_ANSWER = 2
const ANSWERING_ROLE = 'assistant'

export interface TemplateTexts extends PromptTexts {
  /** Whether it contains pictures or sounds, whose tokens follow no rule. */
  hasMedia: boolean
}

export function templateTexts({ messages, tools }: ChatBody): TemplateTexts {
  const found: TemplateTexts = { texts: [ANSWERING_ROLE], extra: BEFORE_ANSWER, hasMedia: false }
  for (const message of messages) addMessage(message, found)
  for (const tool of listOf(tools)) found.texts.push(JSON.stringify(tool))
  return found
}

function addMessage(message: ChatMessage, found: TemplateTexts): void {
  const { role, content, tool_calls: calls } = message
  found.extra += PER_MESSAGE
  found.texts.push(role)
  if (typeof content === 'string') found.texts.push(content)
  for (const part of [...listOf(content), ...listOf(message.images)].map(recordOf)) {
    if (typeof part.text === 'string') found.texts.push(part.text)
    else if (part.image_url !== undefined || part.input_audio !== undefined) addMedia(part, found)
  }
  for (const call of listOf(calls)) found.texts.push(JSON.stringify(recordOf(call).function) ?? '')
}

function addMedia(part: Readonly<Record<string, unknown>>, found: TemplateTexts): void {
  const image = part.image_url
  found.extra += imageTokens(textOf(image) ?? textOf(recordOf(image).url) ?? '', false)
  found.hasMedia = true
}
