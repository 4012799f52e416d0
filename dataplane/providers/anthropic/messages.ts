/** Converts OpenAI's messages to the turns of Anthropic's conversation. */

import { createHash } from 'node:crypto'
import { argumentsOf } from '../../json/steps/arguments.ts'
import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage } from '../../wire/inner-form.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { markOf } from '../marks.ts'
import { documentAsFile } from '../pictures.ts'
import { facts } from './facts.ts'
import type { ThoughtsOf } from './thoughts.ts'
import { instructionsIn, markedBy, type Turn, turnsOf } from './turns.ts'

/** The types that the API accepts. */
const IMAGES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/** The texts before the conversation, and one more if given. */
export function systemOf(messages: readonly ChatMessage[], more: string | undefined): Json[] {
  const blocks = instructionsIn(messages).flatMap((message, index) =>
    markedBy(message, blocksOf(message.content, index), { marked }),
  )
  return more === undefined ? blocks : [...blocks, { type: 'text', text: more }]
}

/** Turns alternate and begin with the user's. In a turn, tool results come first. */
export function conversationOf(
  messages: readonly ChatMessage[],
  thoughtsOf: ThoughtsOf,
): Turn<Json>[] {
  const turns = turnsOf<Json>(messages, {
    provider: facts.name,
    user: ({ content }, index) => blocksOf(content, index),
    assistant(message, index) {
      const calls = listOf(message.tool_calls).map((call) => toolUse(recordOf(call), index))
      const thoughts = thoughtsOf(message).map(({ model: _model, ...block }) => block)
      return [...thoughts, ...blocksOf(message.content, index), ...calls]
    },
    tool: toolResult,
    marked,
  })
  // The API refuses an empty conversation, and one that begins with the assistant.
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [textBlock('.')] })
  return turns.map((turn, index) => finished(turn, index === turns.length - 1))
}

function finished({ role, content }: Turn<Json>, last: boolean): Turn<Json> {
  if (role === 'user') {
    const results = content.filter(({ type }) => type === 'tool_result')
    return { role, content: [...results, ...content.filter(({ type }) => type !== 'tool_result')] }
  }
  const end = content.at(-1)
  if (!last || typeof end?.text !== 'string') return { role, content }
  // The API refuses white space at the end of a text that the model is to continue.
  return { role, content: [...content.slice(0, -1), { ...end, text: end.text.trimEnd() }] }
}

function toolUse(call: Json, index: number): Json {
  const called = recordOf(call.function)
  if (textOf(called.name) === undefined) {
    throw unsupported(facts.name, `messages.${index}.tool_calls`, 'send only calls of functions')
  }
  const input = argumentsOf(called.arguments)
  return { type: 'tool_use', id: toolId(call.id), name: called.name, input }
}

function toolResult(message: ChatMessage, index: number): Json {
  const id = toolId(message.tool_call_id)
  const blocks = Array.isArray(message.content) ? blocksOf(message.content, index) : []
  const content = blocks.length > 0 ? blocks : (textOf(message.content) ?? '')
  return { type: 'tool_result', tool_use_id: id, content }
}

/** Derived from the id alone, so that the call and its result have the same id. */
export function toolId(id: unknown): string {
  const own = textOf(id) ?? ''
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(own)) return own
  return `call_${createHash('sha256').update(own).digest('hex').slice(0, 24)}`
}

function blocksOf(content: unknown, index: number): Json[] {
  // The API refuses blank texts.
  if (typeof content === 'string') return content.trim() === '' ? [] : [textBlock(content)]
  return listOf(content).flatMap((part) => {
    const block = blockOf(documentAsFile(recordOf(part)), index)
    if (block === undefined) return []
    const mark = markOf(recordOf(part))
    return [mark === undefined ? block : marked(block, mark)]
  })
}

function marked(block: Json, mark: Json): Json {
  return { ...block, cache_control: mark }
}

function blockOf(part: Json, index: number): Json | undefined {
  const param = `messages.${index}.content`
  if (part.type === 'text' || part.type === 'refusal') {
    const text = textOf(part.text) ?? textOf(part.refusal)
    return text === undefined || text.trim() === '' ? undefined : textBlock(text)
  }
  if (part.type === 'image_url') {
    const source = sourceOf(textOf(recordOf(part.image_url).url))
    if (source?.type === 'url' || IMAGES.has(String(source?.media_type)))
      return { type: 'image', source }
    const fix = 'send images as https URLs or base64 data URLs of PNG, JPEG, GIF or WebP'
    throw unsupported(facts.name, param, fix)
  }
  if (part.type === 'file') {
    const { file_data: data, filename } = recordOf(part.file)
    const source = sourceOf(textOf(data))
    if (source?.media_type === 'application/pdf') {
      return { type: 'document', source, ...(textOf(filename) && { title: filename }) }
    }
    throw unsupported(facts.name, param, 'send files as PDF, in file_data as a base64 data URL')
  }
  throw unsupported(facts.name, param, 'send only parts with text, images or PDF files')
}

function sourceOf(url: string | undefined): Json | undefined {
  if (url === undefined) return undefined
  if (/^https?:/i.test(url)) return { type: 'url', url }
  const comma = url.indexOf(',')
  const media = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[a-z]+=[\w.-]+)*;base64$/i.exec(
    url.slice(0, Math.min(comma, 100)),
  )?.[1]
  if (media === undefined) return undefined
  // The API accepts only this spelling.
  const type = media.toLowerCase().replace('image/jpg', 'image/jpeg')
  return { type: 'base64', media_type: type, data: url.slice(comma + 1) }
}

function textBlock(text: string): Json {
  return { type: 'text', text }
}
