/** Writes messages for Cohere's API. */

import { argumentsText, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import { type Unsupported, unsupported } from '../../wire/unsupported.ts'
import { facts } from './facts.ts'

export function messagesOf(messages: readonly ChatMessage[]): Json[] {
  return messages.map(messageOf)
}

function messageOf(message: ChatMessage, index: number): Json {
  const content = contentOf(message, index)
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content }
    case 'user':
      return { role: 'user', content }
    case 'assistant':
      return assistantOf(message, content, index)
    case 'tool':
      return { role: 'tool', tool_call_id: textOf(message.tool_call_id) ?? '', content }
    default:
      throw refused(`messages.${index}.role`, 'send it as system, user, assistant or tool')
  }
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
