/** A client of Anthropic's messages. */
import { type Json, Raw, written } from '../json-text.ts'
import { type Call, type Conversation, PICTURE, type Result, type Turn } from '../model.ts'
import type { Client } from './contract.ts'
import { readStream, readWhole } from './messages-answer.ts'

const SOURCE = { type: 'base64', media_type: 'image/png', data: PICTURE }
const IMAGE = { type: 'image', source: SOURCE }
const MARK = { cache_control: { type: 'ephemeral' } }
const CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const

export const messagesClient: Client = { name: 'messages', write, readWhole, readStream }

function write(conversation: Conversation, stream: boolean): string {
  const { system, turns, tools, maxTokens, effort, user, choice, format, marks } = conversation
  return written({
    model: 'route',
    max_tokens: maxTokens ?? 8192,
    ...(system.length > 0 && { system: marked(system.map(textBlock), marks === 'system') }),
    messages: turns.flatMap(messagesOf),
    ...(tools.length > 0 && { tools: marked(tools.map(toolOf), marks === 'tools') }),
    tool_choice: choice && { type: CHOICES[choice] },
    ...((effort ?? format) && {
      output_config: {
        effort,
        format: format && { type: 'json_schema', schema: new Raw(closed(format)) },
      },
    }),
    metadata: user === undefined ? undefined : { user_id: user },
    ...(stream && { stream }),
  })
}

/** The last one has a cache mark. */
function marked(list: Json[], isMarked: boolean): Json[] {
  return isMarked ? list.with(-1, { ...list.at(-1), ...MARK }) : list
}

/** The API requires a closed schema without bounds. */
function closed(format: string): string {
  const open = format.replace(/,"(minimum|maxItems)":\d+/, '')
  return open.includes('additionalProperties')
    ? open
    : `${open.slice(0, -1)},"additionalProperties":false}`
}

function toolOf({ name, description, schema }: Conversation['tools'][number]): Json {
  return {
    name,
    description,
    input_schema: new Raw(schema === '{}' ? '{"type":"object"}' : schema),
  }
}

function textBlock(text: string): Json {
  return { type: 'text', text }
}

function messagesOf(turn: Turn): Json[] {
  if (turn.who === 'given') return turn.items.map((item) => new Raw(item))
  if (turn.who === 'user') {
    const blocks: Json[] = turn.texts.filter(isThere).map(textBlock)
    if (turn.mark) blocks[0] = { ...blocks[0], ...MARK }
    return [{ role: 'user', content: turn.picture ? [...blocks, IMAGE] : blocks }]
  }
  if (turn.who === 'model') {
    const { text, thinking, calls } = turn
    const { text: thought, signature = '' } = thinking ?? { text: '' }
    const blocks: Json[] = thinking ? [{ type: 'thinking', thinking: thought, signature }] : []
    if (isThere(text)) blocks.push(textBlock(text))
    return [{ role: 'assistant', content: [...blocks, ...calls.map(callOf)] }]
  }
  const content = [
    ...turn.results.map(resultOf),
    ...[turn.then ?? ''].filter(isThere).map(textBlock),
  ]
  return [{ role: 'user', content }]
}

/** The API refuses blank texts. */
function isThere(text: string): boolean {
  return text.trim() !== ''
}

/** The API accepts no other ids. */
export function idFor(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_')
}

function callOf({ id, name, args }: Call): Json {
  return { type: 'tool_use', id: idFor(id), name, input: new Raw(args || '{}') }
}

function resultOf({ id, text, picture, isError, mark }: Result): Json {
  const content = picture ? [...[text].filter(isThere).map(textBlock), IMAGE] : text
  return {
    type: 'tool_result',
    tool_use_id: idFor(id),
    content,
    ...(isError && { is_error: true }),
    ...(mark && MARK),
  }
}
