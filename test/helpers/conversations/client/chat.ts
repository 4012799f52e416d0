/** A client of chat completions. */
import { exactly, type Json, Raw, written } from '../json-text.ts'
import { type Call, type Conversation, PICTURE, type Result, type Turn } from '../model.ts'
import { type Client, eventsIn, type Heard } from './contract.ts'

const IMAGE = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } }
const MARK = { cache_control: { type: 'ephemeral' } }

export const chatClient: Client = { name: 'chat', write, readWhole, readStream }

function write(conversation: Conversation, stream: boolean): string {
  const { system, turns, tools, maxTokens, effort, user, choice, format } = conversation
  return written({
    model: 'route',
    messages: [
      ...system.map((content) => ({ role: 'system', content })),
      ...turns.flatMap(messagesOf),
    ],
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    tool_choice: choice,
    max_completion_tokens: maxTokens,
    reasoning_effort: effort,
    response_format: format && {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: new Raw(format) },
    },
    user,
    ...(stream && { stream, stream_options: { include_usage: true } }),
  })
}

function toolOf({ name, description, schema }: Conversation['tools'][number]): Json {
  return { type: 'function', function: { name, description, parameters: new Raw(schema) } }
}

function messagesOf(turn: Turn): Json[] {
  if (turn.who === 'given') return turn.items.map((item) => new Raw(item))
  if (turn.who === 'user') return [{ role: 'user', content: partsOf(turn) }]
  if (turn.who === 'model') {
    const { text, thinking, calls } = turn
    const content = calls.length > 0 && text === '' ? null : text
    const reasoning = thinking && { reasoning_content: thinking.text }
    const written = calls.length > 0 && { tool_calls: calls.map(callOf) }
    return [{ role: 'assistant', content, ...reasoning, ...written }]
  }
  const results = turn.results.map(resultOf)
  return turn.then === undefined ? results : [...results, { role: 'user', content: turn.then }]
}

function partsOf({ texts, picture, mark }: Extract<Turn, { who: 'user' }>): Json {
  if (texts.length === 1 && !picture && !mark) return texts[0]
  const parts: Json[] = texts.map((text) => ({ type: 'text', text }))
  if (mark) parts[0] = { ...parts[0], ...MARK }
  return picture ? [...parts, IMAGE] : parts
}

function callOf({ id, name, args }: Call): Json {
  return { id, type: 'function', function: { name, arguments: args } }
}

function resultOf({ id, text, picture }: Result): Json {
  const content = picture ? [{ type: 'text', text }, IMAGE] : text
  return { role: 'tool', tool_call_id: id, content }
}

function readWhole(text: string, forgets: boolean): Heard {
  const [{ message, finish_reason: finish }] = exactly(text).choices
  return heardOf(message, finish, forgets)
}

/** Like OpenAI's SDK: calls by their index, texts grow, and other members of a call are the last ones. */
function readStream(text: string, forgets: boolean): Heard {
  const events = eventsIn(text)
  const message: Json = { role: 'assistant', content: null }
  let finish: unknown = null
  for (const { data } of events) {
    if (data === '[DONE]') continue
    const chunk = exactly(data)
    if (chunk.error) return { ...heardOf(message, null, forgets), isWhole: false }
    for (const choice of chunk.choices) {
      finish = choice.finish_reason ?? finish
      grow(message, choice.delta ?? {})
    }
  }
  const isDone = events.at(-1)?.data === '[DONE]' && finish !== null
  const heard = heardOf(message, finish, forgets)
  return { ...heard, isWhole: isDone }
}

function grow(message: Json, delta: Json): void {
  if (delta.content != null) message.content = (message.content ?? '') + delta.content
  const reasoning = delta.reasoning_content ?? delta.reasoning
  if (reasoning != null) message.reasoning_content = (message.reasoning_content ?? '') + reasoning
  if (delta.images) message.images = [...(message.images ?? []), ...delta.images]
  if (delta.thinking_blocks)
    message.thinking_blocks = [...(message.thinking_blocks ?? []), ...delta.thinking_blocks]
  for (const piece of delta.tool_calls ?? []) {
    const at = Number(piece.index?.text)
    if (Number.isNaN(at)) throw new Error(`A call without an index: ${JSON.stringify(piece)}`)
    message.tool_calls ??= []
    message.tool_calls[at] ??= { function: { name: '', arguments: '' } }
    const call = message.tool_calls[at]
    const { index: _, function: made = {}, ...rest } = piece
    for (const [name, value] of Object.entries(rest)) if (value != null) call[name] = value
    call.function.name += made.name ?? ''
    call.function.arguments += made.arguments ?? ''
  }
}

function heardOf(message: Json, finish: unknown, forgets: boolean): Heard {
  const { tool_calls: calls = [], content, reasoning_content: reasoning } = message
  const { role, refusal } = message
  const kept = forgets
    ? { role, content, refusal, tool_calls: message.tool_calls && calls.map(plain) }
    : message
  return {
    text: content ?? '',
    ...(reasoning && { thinking: { text: reasoning } }),
    calls: (calls as Json[]).map((call) => ({
      id: call.id ?? '',
      name: call.function.name,
      args: call.function.arguments,
    })),
    endsWithCalls: finish === 'tool_calls',
    items: [written(withNumbers(kept))],
    isWhole: true,
  }
}

function plain({ id, type, function: made }: Json): Json {
  return { id, type, function: made }
}

/** Numbers as they were written. */
export function withNumbers(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withNumbers)
  if (value.constructor?.name === 'Num') return new Raw(value.text)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withNumbers(one)]))
}
