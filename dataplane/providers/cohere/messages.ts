/** Writes messages for Cohere's API. */

import { argumentsText, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import { type Unsupported, unsupported } from '../../wire/unsupported.ts'
import { CONTINUE } from '../extras/continue.ts'
import { facts } from './facts.ts'

/** A text without meaning, for places where the API requires one. */
const FILLER = '.'

/** The API refuses messages without content, and the last message must be the user's or a tool's. */
export function messagesOf(messages: readonly ChatMessage[]): Json[] {
  const sent: Json[] = []
  for (const [index, message] of messages.entries()) {
    const one = messageOf(message, index)
    if (one !== undefined) sent.push(one)
  }
  const last = sent.at(-1)
  if (last?.role === 'system') sent[sent.length - 1] = { ...last, role: 'user' }
  if (last === undefined || last.role === 'assistant') {
    const isModels = messages.at(-1)?.role === 'assistant'
    sent.push({ role: 'user', content: isModels ? CONTINUE : FILLER })
  }
  return sent
}

/** undefined for an empty message, but a result must be there. */
function messageOf(message: ChatMessage, index: number): Json | undefined {
  const content = contentOf(message, index)
  const isEmpty = content.length === 0
  if (isEmpty && message.role !== 'tool' && listOf(message.tool_calls).length === 0)
    return undefined
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content }
    case 'user':
      return { role: 'user', content }
    case 'assistant':
      return assistantOf(message, content, index)
    case 'tool':
      return toolOf(message, isEmpty ? FILLER : content)
    default:
      throw refused(`messages.${index}.role`, 'send it as system, user, assistant or tool')
  }
}

function toolOf({ tool_call_id: id }: ChatMessage, content: string | Json[]): Json {
  return { role: 'tool', tool_call_id: textOf(id) ?? '', content }
}

function assistantOf(message: ChatMessage, content: string | Json[], index: number): Json {
  const calls = listOf(message.tool_calls).map((call) => callOf(recordOf(call), index))
  if (calls.length === 0) return { role: 'assistant', content }
  // The gateway sent clients the plan as reasoning.
  const plan = textOf(message.reasoning_content)
  return {
    role: 'assistant',
    ...(content.length > 0 && { content }),
    ...(plan !== undefined && { tool_plan: plan }),
    tool_calls: calls,
  }
}

function callOf(call: Json, index: number): Json {
  const { name, arguments: input } = recordOf(call.function)
  if (textOf(name) === undefined) {
    throw refused(`messages.${index}.tool_calls`, 'send calls of functions')
  }
  const called = { name, arguments: argumentsText(input) }
  return { id: textOf(call.id) ?? '', type: 'function', function: called }
}

function contentOf({ role, content }: ChatMessage, index: number): string | Json[] {
  if (!Array.isArray(content)) return textOf(content) ?? ''
  return content.map((part) => partOf(recordOf(part), role === 'user', `messages.${index}.content`))
}

function partOf(part: Json, isUsers: boolean, param: string): Json {
  if (part.type === 'text' || part.type === 'refusal') {
    return { type: 'text', text: textOf(part.text) ?? textOf(part.refusal) ?? '' }
  }
  if (part.type !== 'image_url' || !isUsers) {
    throw refused(
      param,
      isUsers ? 'send parts of type text or image_url' : 'send parts of type text',
    )
  }
  const { url, detail } = recordOf(part.image_url)
  return { type: 'image_url', image_url: { url, ...(textOf(detail) && { detail }) } }
}

function refused(param: string, fix: string): Unsupported {
  return unsupported(facts.name, param, fix)
}
