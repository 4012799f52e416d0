/** Reads answers of Anthropic's API as its SDK does. */
import { canonicalOf, exactly, type Json, written } from '../json-text.ts'
import { withNumbers } from './chat.ts'
import { eventsIn, type Heard } from './contract.ts'

export function readWhole(text: string, forgets: boolean): Heard {
  const { content, stop_reason: reason } = exactly(text)
  const blocks = content.map((one: Json) =>
    one.type === 'tool_use' ? { ...one, args: canonicalOf(one.input) } : one,
  )
  return heardOf(blocks, reason, forgets, true)
}

/** As Anthropic's SDK gathers it. */
export function readStream(text: string, forgets: boolean): Heard {
  const blocks: Json[] = []
  let open: Json
  let [reason, isWhole] = [null as unknown, false]
  for (const { event, data } of eventsIn(text)) {
    const one = exactly(data)
    if (one.type !== event) throw new Error(`The event "${event}" holds "${one.type}".`)
    const at = Number(one.index?.text)
    if (one.type === 'error') return heardOf(blocks, null, forgets, false)
    if (one.type === 'content_block_start') {
      if (open !== undefined) throw new Error('A block begins inside of another.')
      if (at !== blocks.length) throw new Error(`Block ${at} follows ${blocks.length - 1}.`)
      open = { ...one.content_block, args: '' }
      blocks.push(open)
    } else if (one.type === 'content_block_delta') {
      if (open !== blocks[at] || open === undefined) throw new Error(`Block ${at} is not open.`)
      growBlock(open, one.delta)
    } else if (one.type === 'content_block_stop') {
      if (open !== blocks[at] || open === undefined) throw new Error(`Block ${at} is not open.`)
      if (open.type === 'tool_use') open.input = argumentsOf(open.args)
      open = undefined
    } else if (one.type === 'message_delta') reason = one.delta.stop_reason ?? reason
    else if (one.type === 'message_stop') isWhole = open === undefined && reason !== null
  }
  return heardOf(blocks, reason, forgets, isWhole)
}

function argumentsOf(text: string): Json {
  try {
    return exactly(text || '{}')
  } catch {
    throw new Error(`The arguments of a call are no JSON: ${text}`)
  }
}

function growBlock(block: Json, delta: Json): void {
  const kinds: Readonly<Record<string, readonly [string, string, string]>> = {
    text_delta: ['text', 'text', 'text'],
    input_json_delta: ['tool_use', 'args', 'partial_json'],
    thinking_delta: ['thinking', 'thinking', 'thinking'],
    signature_delta: ['thinking', 'signature', 'signature'],
  }
  const [type, member, from] = kinds[delta.type] ?? ['', '', '']
  if (block.type !== type) throw new Error(`A ${delta.type} in a block "${block.type}".`)
  block[member] = (block[member] ?? '') + delta[from]
}

function heardOf(
  blocks: readonly Json[],
  reason: unknown,
  forgets: boolean,
  isWhole: boolean,
): Heard {
  const of = (type: string) => blocks.filter((one) => one.type === type)
  const kept = blocks
    .filter(({ type }) => !forgets || !/thinking/.test(type))
    .map(({ args: _, ...block }) => withNumbers(block))
  const thinking = of('thinking')
  return {
    text: of('text')
      .map(({ text }) => text)
      .join(''),
    ...(thinking.length > 0 && {
      thinking: { text: thinking.map((one) => one.thinking).join('') },
    }),
    calls: of('tool_use').map(({ id, name, args }) => ({ id, name, args: args || '{}' })),
    endsWithCalls: reason === 'tool_use',
    items: kept.length === 0 ? [] : [written({ role: 'assistant', content: kept })],
    isWhole,
  }
}
