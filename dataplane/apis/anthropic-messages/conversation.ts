/** Converts Anthropic's turns of blocks to messages of the inner form. */

import { isRecord, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { AskedExtra } from '../../wire/extras.ts'
import type { ChatMessage, ChatRequest } from '../../wire/inner-form.ts'

type Lack = NonNullable<ChatRequest['untranslated']>

/**
 * An agent's note for Anthropic's billing. At the start of a prompt it would prevent cache hits of every other model.
 * Other texts are not such a note.
 */
const BILLING = /^x-anthropic-billing-header:(?: ?[\w-]{1,40}=[^\s;]{0,100};?){0,10}$/

export class Conversation {
  readonly messages: ChatMessage[] = []
  untranslated: Lack | undefined
  /** Blocks that name stored files of the account. */
  readonly files: AskedExtra[] = []

  /** Reports the first part of the request that the inner form lacks. */
  lacks(what: Lack): void {
    this.untranslated ??= what
  }

  system(content: unknown): void {
    const blocks = blocksOf(content).filter(
      ({ text }) => textOf(text) !== undefined && !BILLING.test(String(text)),
    )
    if (blocks.length === 0) return
    const isMarkedWithin = blocks.slice(0, -1).some((block) => isRecord(block.cache_control))
    // A mark stays at its part; a mark after all parts belongs to the message.
    const message = isMarkedWithin
      ? { content: blocks.map((block) => withMark(textPart(String(block.text)), block)) }
      : { content: blocks.map(({ text }) => text).join('\n\n'), ...markIn(blocks) }
    this.messages.push({ role: 'system', ...message })
  }

  turn({ role, content }: Json, index: number): void {
    const param = `messages.${index}.content`
    if (listOf(content).some(namesFile)) this.files.push({ extra: 'files', param })
    if (role === 'system') this.system(content)
    else if (role === 'assistant') this.#assistant(blocksOf(content), index)
    else if (typeof content === 'string') this.messages.push({ role: 'user', content })
    else this.#user(blocksOf(content), index)
  }

  #assistant(blocks: readonly Json[], index: number): void {
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(callOf)
    const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
    const thoughts = blocks.filter(isThought)
    const unsigned = thoughts.filter(isUnsigned).flatMap(({ thinking }) => textOf(thinking) ?? [])
    const known = ['text', 'tool_use', 'thinking', 'redacted_thinking']
    for (const { type } of blocks) if (!known.includes(String(type))) this.#lacksBlock(type, index)
    if (text === '' && calls.length === 0 && unsigned.length === 0) return
    // An answer that was cut while the model thought has neither words nor calls.
    const content = text === '' && calls.length > 0 ? null : text
    this.messages.push({
      role: 'assistant',
      content,
      ...(calls.length > 0 && { tool_calls: calls }),
      // Signed thinking belongs to the model that produced it; other models do not get it.
      ...(thoughts.length > 0 && { thinking_blocks: thoughts }),
      ...(unsigned.length > 0 && { reasoning_content: unsigned.join('\n') }),
      ...markIn(blocks),
    })
  }

  /** Tool results come first in their turn. */
  #user(blocks: readonly Json[], index: number): void {
    const results = blocks.filter(({ type }) => type === 'tool_result')
    const parts: Json[] = []
    for (const result of results) parts.push(...this.#result(result, index))
    for (const block of blocks) {
      if (block.type !== 'tool_result') parts.push(...this.#marked(block, index))
    }
    if (parts.length === 0) return
    this.messages.push({ role: 'user', content: parts })
  }

  /** The parts of a result that only a user may send. */
  #result(result: Json, index: number): Json[] {
    const blocks = blocksOf(result.content)
    const text = blocks.map((block) => textOf(block.text) ?? '').join('')
    const content = result.is_error === true ? `Error: ${text}` : text
    const mark = markIn([...blocks, result])
    this.messages.push({ role: 'tool', tool_call_id: result.tool_use_id, content, ...mark })
    return blocks.filter(({ type }) => type !== 'text').flatMap((block) => this.#part(block, index))
  }

  /** The mark comes after all parts of its block. */
  #marked(block: Json, index: number): Json[] {
    const parts = this.#part(block, index)
    const last = parts.at(-1)
    return last === undefined ? parts : parts.with(-1, withMark(last, block))
  }

  #part(block: Json, index: number): Json[] {
    const source = recordOf(block.source)
    switch (block.type) {
      case 'text':
        return block.text === '' ? [] : [{ type: 'text', text: block.text }]
      case 'image': {
        const url = urlOf(source)
        if (url === undefined) break
        return [{ type: 'image_url', image_url: { url } }]
      }
      case 'document': {
        if (source.type === 'text') return named(block, [source.data])
        if (source.type === 'content') return named(block, textsOf(source.content))
        if (source.type !== 'base64') break
        const filename = textOf(block.title) ?? 'document.pdf'
        return [{ type: 'file', file: { filename, file_data: urlOf(source) } }]
      }
      case 'search_result':
        return named({ title: block.title, context: block.source }, textsOf(block.content))
    }
    this.#lacksBlock(block.type, index)
    return []
  }

  #lacksBlock(type: unknown, index: number): void {
    this.lacks({
      param: `messages.${index}.content`,
      message: `A block of type "${String(type)}" with this source cannot be translated for this model.`,
    })
  }
}

/** Whether the block, or a block inside it, is a stored file of the account. */
function namesFile(block: unknown): boolean {
  const { file_id: id, source, content } = recordOf(block)
  return id != null || listOf(content).some(namesFile) || (source != null && namesFile(source))
}

function isThought({ type }: Json): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function withMark(part: Json, { cache_control: mark }: Json): Json {
  return isRecord(mark) ? { ...part, cache_control: mark } : part
}

/** The last mark of the blocks of one message. */
function markIn(blocks: readonly Json[]): Json {
  const mark = blocks.map((block) => block.cache_control).findLast(isRecord)
  return mark === undefined ? {} : { cache_control: mark }
}

function isUnsigned({ type, signature }: Json): boolean {
  return type === 'thinking' && textOf(signature) === undefined
}

function callOf({ id, name, input }: Json): Json {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}

function urlOf({ type, url, media_type: media, data }: Json): string | undefined {
  if (type === 'url') return textOf(url)
  return type === 'base64' ? `data:${String(media)};base64,${String(data)}` : undefined
}

/** The texts of a document after its title. */
function named({ title, context }: Json, texts: readonly unknown[]): Json[] {
  return [title, context, ...texts].flatMap((one) => textOf(one) ?? []).map(textPart)
}

function textPart(text: string): Json {
  return { type: 'text', text }
}

function textsOf(content: unknown): string[] {
  return blocksOf(content).flatMap(({ text }) => textOf(text) ?? [])
}

/** A plain text is one block. */
function blocksOf(content: unknown): readonly Json[] {
  return typeof content === 'string' ? [textPart(content)] : listOf(content).map(recordOf)
}
