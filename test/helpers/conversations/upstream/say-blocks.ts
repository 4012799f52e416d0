/** Answers of Anthropic and Bedrock, in blocks. */
import { aRandom } from '../../random.ts'
import { Raw, written } from '../json-text.ts'
import type { Answer, Style } from '../model.ts'
import { cutSafely } from './pieces.ts'

/** An event as its name and data. */
export type Said = readonly [event: string, data: string]

function wordOf({ calls }: Answer, { finish }: Style): string {
  return calls.length > 0 === (finish !== 'contradicts') ? 'tool_use' : 'end_turn'
}

/** Servers write no line ends between the members of an event. */
const objectOf = (args: string) => new Raw(args === '' ? '{}' : args.replace(/\n/g, ' '))

export function wholeAnthropic(answer: Answer, style: Style): string {
  const { thinking, text, calls } = answer
  const content = [
    ...(thinking
      ? [{ type: 'thinking', thinking: thinking.text, signature: thinking.signature ?? '' }]
      : []),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: objectOf(args) })),
  ]
  const usage = { input_tokens: 9, output_tokens: 5 }
  const head = { id: 'msg_up', type: 'message', role: 'assistant', model: 'served' }
  return written({
    ...head,
    content,
    stop_reason: wordOf(answer, style),
    stop_sequence: null,
    usage,
  })
}

export function streamAnthropic(answer: Answer, style: Style): Said[] {
  const { thinking, text, calls } = answer
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const out: Said[] = []
  const send = (type: string, more: object) => out.push([type, written({ type, ...more })])
  const usage = { input_tokens: 9, output_tokens: 1 }
  const head = { id: 'msg_up', type: 'message', role: 'assistant', model: 'served' }
  send('message_start', { message: { ...head, content: [], stop_reason: null, usage } })
  let index = 0
  const block = (content_block: object, deltas: readonly object[]) => {
    send('content_block_start', { index, content_block })
    if (random(5) === 0) send('ping', {})
    for (const delta of deltas) send('content_block_delta', { index, delta })
    send('content_block_stop', { index })
    index++
  }
  if (thinking) {
    const deltas = cutSafely(thinking.text, random, many).map((one) => ({
      type: 'thinking_delta',
      thinking: one,
    }))
    const { signature = '' } = thinking
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...deltas,
      { type: 'signature_delta', signature },
    ])
  }
  if (text !== '')
    block(
      { type: 'text', text: '' },
      cutSafely(text, random, many).map((one) => ({ type: 'text_delta', text: one })),
    )
  for (const { id, name, args } of calls) {
    const deltas = cutSafely(args, random, many).map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    }))
    block({ type: 'tool_use', id, name, input: {} }, deltas)
  }
  const delta = { stop_reason: wordOf(answer, style), stop_sequence: null }
  send('message_delta', { delta, usage: { output_tokens: 5 } })
  send('message_stop', {})
  return out
}

const CONVERSE = {
  usage: { inputTokens: 9, outputTokens: 5, totalTokens: 14 },
  metrics: { latencyMs: 3 },
}

export function wholeBedrock(answer: Answer, style: Style): string {
  const { thinking, text, calls } = answer
  const reasoningText = thinking && { text: thinking.text, signature: thinking.signature }
  const content = [
    ...(reasoningText ? [{ reasoningContent: { reasoningText } }] : []),
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id, name, args }) => ({
      toolUse: { toolUseId: id, name, input: objectOf(args) },
    })),
  ]
  return written({
    output: { message: { role: 'assistant', content } },
    stopReason: wordOf(answer, style),
    ...CONVERSE,
  })
}

export function streamBedrock(answer: Answer, style: Style): Said[] {
  const { thinking, text, calls } = answer
  const random = aRandom(style.seed)
  const many = style.pieces === 'whole' ? 1 : 1 + random(4)
  const out: Said[] = []
  const send = (event: string, data: object) => out.push([event, written({ ...data, p: 'abcd' })])
  send('messageStart', { role: 'assistant' })
  let contentBlockIndex = 0
  const block = (deltas: readonly object[], start?: object) => {
    if (start) send('contentBlockStart', { contentBlockIndex, start })
    for (const delta of deltas) send('contentBlockDelta', { contentBlockIndex, delta })
    send('contentBlockStop', { contentBlockIndex })
    contentBlockIndex++
  }
  if (thinking) {
    const deltas = cutSafely(thinking.text, random, many).map((one) => ({
      reasoningContent: { text: one },
    }))
    const { signature } = thinking
    block(signature ? [...deltas, { reasoningContent: { signature } }] : deltas)
  }
  if (text !== '') block(cutSafely(text, random, many).map((one) => ({ text: one })))
  for (const { id: toolUseId, name, args } of calls) {
    const deltas = cutSafely(args, random, many).map((input) => ({ toolUse: { input } }))
    block(deltas, { toolUse: { toolUseId, name } })
  }
  send('messageStop', { stopReason: wordOf(answer, style) })
  send('metadata', CONVERSE)
  return out
}
