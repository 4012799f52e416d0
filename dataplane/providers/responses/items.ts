/** The messages of a conversation as items of OpenAI's Responses. */
import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { documentAsFile } from '../pictures.ts'

const ROLES: readonly string[] = ['system', 'developer', 'user', 'assistant']

export function itemsOf(messages: readonly ChatMessage[], provider: string): Json[] {
  return messages.flatMap((message, index) => {
    const param = `messages.${index}.content`
    const { role, content, tool_call_id: id } = message
    const parts = () =>
      listOf(content).map((part) => partOf(documentAsFile(recordOf(part)), { provider, param }))
    if (role === 'tool') {
      const output = Array.isArray(content) ? parts() : (textOf(content) ?? '')
      return [{ type: 'function_call_output', call_id: id, output }]
    }
    if (!ROLES.includes(role))
      throw unsupported(
        provider,
        `messages.${index}.role`,
        `send one of the roles ${ROLES.join(', ')}, tool`,
      )
    if (role !== 'assistant')
      return [
        { type: 'message', role, content: Array.isArray(content) ? parts() : (content ?? '') },
      ]
    const said = wordsOf(content) || (textOf(message.refusal) ?? '')
    const calls = listOf(message.tool_calls).map((call) => callOf(recordOf(call), provider, index))
    return [...(said === '' ? [] : [{ type: 'message', role, content: said }]), ...calls]
  })
}

/** An assistant's parts contain only text. */
function wordsOf(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content) ?? ''
  return content
    .map(recordOf)
    .map(({ text, refusal }) => textOf(text) ?? textOf(refusal) ?? '')
    .join('')
}

function callOf({ id, function: called }: Json, provider: string, index: number): Json {
  const { name, arguments: text } = recordOf(called)
  if (textOf(name) === undefined)
    throw unsupported(provider, `messages.${index}.tool_calls`, 'send only calls of functions')
  return { type: 'function_call', call_id: id, name, arguments: textOf(text) ?? '{}' }
}

interface Place {
  readonly provider: string
  readonly param: string
}

function partOf(part: Json, { provider, param }: Place): Json {
  const mark = part.prompt_cache_breakpoint
  const marked = mark === undefined ? {} : { prompt_cache_breakpoint: mark }
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text, ...marked }
    case 'refusal':
      return { type: 'input_text', text: part.refusal }
    case 'image_url': {
      const { url, detail } = recordOf(part.image_url)
      return { type: 'input_image', image_url: url, ...(textOf(detail) && { detail }), ...marked }
    }
    case 'file':
      return { type: 'input_file', ...recordOf(part.file), ...marked }
  }
  throw unsupported(provider, param, 'send only parts with text, images or files')
}
