/** Converts OpenAI's messages to Ollama's: one text each, with pictures beside it, and calls with objects. */

import { argumentsOf } from '../../json/steps/arguments.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { facts } from './facts.ts'

const ROLES: Readonly<Record<string, string>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
}
const PICTURE = /^data:image\/[a-z0-9.+-]{1,64};base64,/i

export function messagesOf(messages: readonly ChatMessage[]): Json[] {
  const called = new Map<unknown, string>()
  return messages.map((message, index) => {
    const calls = listOf(message.tool_calls).map((call) => callOf(recordOf(call), index))
    for (const { id, function: one } of calls) called.set(id, one.name)
    const thinking = textOf(message.reasoning_content)
    const answered = message.tool_call_id
    const toolName = called.get(answered)
    return {
      role: roleOf(message, index),
      ...contentOf(message.content, index),
      ...(thinking !== undefined && message.role === 'assistant' && { thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(toolName !== undefined && { tool_name: toolName }),
      ...(textOf(answered) !== undefined && { tool_call_id: answered }),
    }
  })
}

function roleOf({ role }: ChatMessage, index: number): string {
  if (Object.hasOwn(ROLES, role)) return ROLES[role] as string
  const fix = `send one of the roles ${Object.keys(ROLES).join(', ')}`
  throw unsupported(facts.name, `messages.${index}.role`, fix)
}

function callOf(call: Json, index: number) {
  const { name: called, arguments: text } = recordOf(call.function)
  const name = textOf(called)
  if (name === undefined) {
    throw unsupported(facts.name, `messages.${index}.tool_calls`, 'send only calls of functions')
  }
  return { id: call.id, function: { name, arguments: argumentsOf(text) } }
}

function contentOf(content: unknown, index: number): { content: string; images?: string[] } {
  if (!Array.isArray(content)) return { content: textOf(content) ?? '' }
  const texts: string[] = []
  const images: string[] = []
  for (const part of content.filter(isRecord)) {
    if (part.type === 'image_url') images.push(pictureOf(part, index))
    else texts.push(textIn(part, index))
  }
  return { content: texts.join('\n'), ...(images.length > 0 && { images }) }
}

function textIn({ type, text, refusal }: Json, index: number): string {
  if (type === 'text' || type === 'refusal') return textOf(text) ?? textOf(refusal) ?? ''
  throw unsupported(facts.name, `messages.${index}.content`, 'send only texts and images')
}

/** Neither Ollama nor the gateway fetches it, because a client's address may be inside the network. */
function pictureOf({ image_url: image }: Json, index: number): string {
  const url = textOf(recordOf(image).url) ?? ''
  const head = PICTURE.exec(url.slice(0, 100))?.[0]
  if (head !== undefined) return url.slice(head.length)
  throw unsupported(facts.name, `messages.${index}.content`, 'send images as base64 data URLs')
}
