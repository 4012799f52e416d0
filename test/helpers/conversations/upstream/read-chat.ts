/** Reads requests in the family of chat completions, including Ollama's and Cohere's own. */
import { canonicalOf, exactly, type Json } from '../json-text.ts'
import { Seen } from './seen.ts'

/** `filler`: the gateway's text if roles must alternate. */
export function readChat(text: string, filler?: string): Seen {
  const body = exactly(text)
  const seen = new Seen()
  for (const tool of body.tools ?? []) seen.tools.push(tool.function.name)
  for (const message of body.messages)
    if (message.role !== 'assistant' || message.content !== filler || filler === undefined)
      readMessage(message, seen)
  return seen
}

function readMessage(message: Json, seen: Seen): void {
  const { role, content, images, tool_calls: calls } = message
  const parts: Json[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  const said = parts.map(({ text }) => text ?? '').join('')
  seen.pictures += parts.filter(({ type }) => type === 'image_url').length + (images?.length ?? 0)
  seen.marks += parts.filter((part) => part.cache_control).length
  if (role === 'user') seen.user += said
  else if (role === 'system' || role === 'developer') seen.system += said
  else if (role === 'assistant') {
    seen.model += said
    seen.thinking += message.reasoning_content ?? message.reasoning ?? message.thinking ?? ''
    seen.thinking += parts.map((part) => thinkingOf(part.thinking)).join('')
    seen.thinking += message.tool_plan ?? ''
    for (const { id, function: made } of calls ?? []) {
      const args = typeof made.arguments === 'string' ? made.arguments : canonicalOf(made.arguments)
      seen.call(id ?? '', made.name, args)
    }
  } else {
    const documents = parts.map(({ document }) => document && canonicalOf(document.data)).join('')
    const id = message.tool_call_id
    seen.result((call) => id === undefined || call.id === id, said + documents)
  }
}

function thinkingOf(thinking: Json): string {
  if (typeof thinking === 'string') return thinking
  return (thinking ?? []).map(({ text }: Json) => text).join('')
}

export function readResponses(text: string): Seen {
  const body = exactly(text)
  const seen = new Seen()
  seen.system = body.instructions ?? ''
  for (const tool of body.tools ?? []) seen.tools.push(tool.name)
  const items =
    typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input
  for (const item of items) readItem(item, seen)
  return seen
}

function readItem(item: Json, seen: Seen): void {
  const of = (content: Json): Json[] =>
    typeof content === 'string' ? [{ text: content }] : (content ?? [])
  const parts = [...of(item.content), ...of(item.output), ...of(item.summary)]
  const said = parts.map(({ text }) => text ?? '').join('')
  seen.pictures += parts.filter(({ type }) => type === 'input_image').length
  if (item.type === 'function_call') seen.call(item.call_id, item.name, item.arguments)
  else if (item.type === 'function_call_output') seen.result(({ id }) => id === item.call_id, said)
  else if (item.type === 'reasoning') seen.thinking += said
  else if (item.role === 'assistant') seen.model += said
  else if (item.role === 'user') seen.user += said
  else seen.system += said
}
