/** Answers of OpenAI's Responses. */
import { aRandom } from '../../random.ts'
import { written } from '../json-text.ts'
import type { Answer, Style } from '../model.ts'
import { cutSafely } from './pieces.ts'
import type { Said } from './say-blocks.ts'

const USAGE = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 14,
}

interface Item {
  readonly item: Readonly<Record<string, unknown>>
  /** The name of its pieces, its text, and the item before its text has come. */
  readonly kind: 'reasoning_summary_text' | 'output_text' | 'function_call_arguments'
  readonly text: string
  readonly begun: Readonly<Record<string, unknown>>
}

function itemsOf({ thinking, text, calls }: Answer): Item[] {
  const items: Item[] = []
  if (thinking) {
    const head = { type: 'reasoning', id: 'rs_1' }
    const summary = [{ type: 'summary_text', text: thinking.text }]
    const begun = { ...head, summary: [] }
    items.push({
      item: { ...head, summary },
      kind: 'reasoning_summary_text',
      text: thinking.text,
      begun,
    })
  }
  if (text !== '') {
    const head = { type: 'message', id: 'msg_1', role: 'assistant' }
    const content = [{ type: 'output_text', text, annotations: [] }]
    const begun = { ...head, status: 'in_progress', content: [] }
    items.push({
      item: { ...head, status: 'completed', content },
      kind: 'output_text',
      text,
      begun,
    })
  }
  for (const [at, { id, name, args }] of calls.entries()) {
    const head = { type: 'function_call', id: `fc_${at}`, call_id: id || `call_r${at}`, name }
    const begun = { ...head, status: 'in_progress', arguments: '' }
    const item = { ...head, status: 'completed', arguments: args }
    items.push({ item, kind: 'function_call_arguments', text: args, begun })
  }
  return items
}

function responseOf(status: string, output: readonly object[]): object {
  const usage = status === 'completed' ? USAGE : null
  const head = { id: 'resp_up', object: 'response', created_at: 1_767_323_045, model: 'served' }
  return { ...head, status, output, usage, error: null, incomplete_details: null }
}

export function wholeResponses(answer: Answer): string {
  return written(
    responseOf(
      'completed',
      itemsOf(answer).map(({ item }) => item),
    ),
  )
}

export function streamResponses(answer: Answer, style: Style): Said[] {
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const out: Said[] = []
  const send = (type: string, more: object) =>
    out.push([type, written({ type, sequence_number: out.length, ...more })])
  send('response.created', { response: responseOf('in_progress', []) })
  const items = itemsOf(answer)
  for (const [output_index, { item, kind, text, begun }] of items.entries()) {
    const place = { item_id: item.id, output_index }
    const index = kind === 'output_text' ? { content_index: 0 } : { summary_index: 0 }
    const within = kind === 'function_call_arguments' ? place : { ...place, ...index }
    send('response.output_item.added', { output_index, item: begun })
    if (kind === 'output_text')
      send('response.content_part.added', {
        ...within,
        part: { type: 'output_text', text: '', annotations: [] },
      })
    for (const delta of cutSafely(text, random, many))
      send(`response.${kind}.delta`, { ...within, delta })
    const whole = kind === 'function_call_arguments' ? { arguments: text } : { text }
    send(`response.${kind}.done`, { ...within, ...whole })
    send('response.output_item.done', { output_index, item })
  }
  send('response.completed', {
    response: responseOf(
      'completed',
      items.map(({ item }) => item),
    ),
  })
  return out
}
