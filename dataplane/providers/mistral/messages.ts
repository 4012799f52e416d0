/** Writes messages for Mistral's API, which refuses unknown members. */

import { argumentsText, type Json, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import { type Unsupported, unsupported } from '../../wire/unsupported.ts'
import { documentAsFile } from '../pictures.ts'
import { facts } from './facts.ts'
import { callId } from './ids.ts'

const ROLES: Readonly<Record<string, string>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
}
/** Separates a tool result from the client's next message, because the API requires a model message between them. */
const BETWEEN: ChatMessage = { role: 'assistant', content: 'OK.' }

/** The same list if nothing changes. */
export function messagesOf(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const sent: ChatMessage[] = []
  for (const [index, message] of messages.entries()) {
    const one = isPlain(message) ? message : messageOf(message, index)
    if (one === undefined) continue
    const isAnswer = one.role === 'assistant' || one.role === 'tool'
    if (sent.at(-1)?.role === 'tool' && !isAnswer) sent.push(BETWEEN)
    // The API refuses instructions behind the model's words, and at the end.
    const isRefused = one.role === 'system' && sent.at(-1)?.role === 'assistant'
    sent.push(isRefused ? { ...one, role: 'user' } : one)
  }
  const last = sent.at(-1)
  if (last?.role === 'assistant') sent[sent.length - 1] = { ...last, prefix: true }
  if (last?.role === 'system') sent[sent.length - 1] = { ...last, role: 'user' }
  const isSame = sent.length === messages.length && sent.every((one, at) => one === messages[at])
  return isSame ? messages : sent
}

/** Most messages: a role of the same name and a text. */
function isPlain(message: ChatMessage): boolean {
  if (!textOf(message.content) || rowOf(ROLES, message.role) !== message.role) return false
  return message.role !== 'tool' && Object.keys(message).length === 2
}

/** undefined for an empty model message, which the API refuses. */
function messageOf(message: ChatMessage, index: number): ChatMessage | undefined {
  const role = rowOf(ROLES, message.role)
  if (role === undefined) {
    throw refused(`messages.${index}.role`, 'send it as system, user, assistant or tool')
  }
  const content = contentOf(message.content, index)
  if (role === 'tool') {
    const name = textOf(message.name)
    return { role, content, tool_call_id: callId(message.tool_call_id), ...(name && { name }) }
  }
  if (role !== 'assistant') return { role, content }
  const calls = listOf(message.tool_calls).map((call) => callOf(recordOf(call), index))
  if (calls.length === 0) return content.length === 0 ? undefined : { role, content }
  return { role, content: content.length === 0 ? null : content, tool_calls: calls }
}

function callOf(call: Json, index: number): Json {
  const { name, arguments: input } = recordOf(call.function)
  if (textOf(name) === undefined) {
    throw refused(`messages.${index}.tool_calls`, 'send calls of functions')
  }
  const called = { name, arguments: argumentsText(input) }
  return { id: callId(call.id), type: 'function', function: called }
}

function contentOf(content: unknown, index: number): string | readonly Json[] {
  if (typeof content === 'string') return content
  const parts = listOf(content).map((part) =>
    partOf(documentAsFile(recordOf(part)), `messages.${index}.content`),
  )
  return parts.length === 0 ? '' : parts
}

function partOf(part: Json, param: string): Json {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: textOf(part.text) ?? textOf(part.refusal) ?? '' }
    case 'image_url': {
      const { url, detail } = recordOf(part.image_url)
      return { type: 'image_url', image_url: { url, ...(textOf(detail) && { detail }) } }
    }
    case 'input_audio':
      return { type: 'input_audio', input_audio: recordOf(part.input_audio).data }
    case 'file':
      return documentOf(recordOf(part.file), param)
    default:
      throw refused(param, 'send parts of type text, image_url, input_audio or file')
  }
}

function documentOf({ file_data: url, filename }: Json, param: string): Json {
  if (textOf(url) === undefined) throw refused(param, 'send a file as file_data')
  const name = textOf(filename)
  return { type: 'document_url', document_url: url, ...(name && { document_name: name }) }
}

function refused(param: string, fix: string): Unsupported {
  return unsupported(facts.name, param, fix)
}
