/** OpenAI's chat completions, written out of the inner form: for upstreams that speak another wire. */

import type { KeptText } from '../../base/kept-text.ts'
import type { Json } from '../../json/values.ts'
import type { Dialect, StreamWriter } from '../../wire/dialect.ts'
import type {
  ChatAnswer,
  ChatChoice,
  ChatDelta,
  ChatEvent,
  ChatRequest,
  Sent,
  Thought,
  ToolCall,
  Usage,
} from '../../wire/inner-form.ts'
import { STREAM_END, usageOf } from '../openai/usage.ts'
import { chatReading, OPENAI_CHAT } from './reading.ts'

export const openAiChatDialect: Dialect<'chat'> = {
  wire: OPENAI_CHAT,
  operation: 'chat',
  reading: chatReading,
  writeAnswer,
  openWriter,
}

function writeAnswer(
  { id, model, choices }: ChatAnswer,
  usage: Usage | undefined,
  { createdSeconds }: Sent<ChatRequest>,
): object {
  return {
    id,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    choices: choices.map(choiceOf),
    ...(usage && { usage: usageOf(usage) }),
  }
}

function choiceOf(choice: ChatChoice, index: number): Json {
  const { text, reasoning, refusal = null, calls, finish, logprobs = null, thoughts } = choice
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls.map(callOf), ...handedBack(thoughts) }),
  }
  return { index, message, logprobs, finish_reason: finish }
}

/** Clients hand them back with the message, as they do with its calls. */
function handedBack(thoughts: readonly Thought[] = []): Json {
  return thoughts.length > 0 ? { thinking_blocks: thoughts } : {}
}

function callOf({ id, name, arguments: text, extra }: ToolCall): Json {
  const own = extra && { extra_content: extra }
  return { id, type: 'function', function: { name, arguments: text }, ...own }
}

function openWriter(request: Sent<ChatRequest>, kept: KeptText): StreamWriter<ChatEvent> {
  let frame: Json = {}
  let thoughts: Thought[] = []
  /** Choices whose first chunk, with the role, has been written. */
  const begun = new Set([0])
  const chunk = (members: Json) => `data: ${JSON.stringify({ ...frame, ...members })}\n\n`
  const choice = (index: number, delta: Json, finish: string | null, logprobs: unknown = null) =>
    chunk({ choices: [{ index, delta, logprobs, finish_reason: finish }] })
  const begin = (index: number) => {
    // An upstream that counts without end must not fill the memory.
    if (begun.size > request.choices || begun.has(index)) return ''
    begun.add(index)
    return choice(index, BEGINNING, null)
  }
  return {
    write(event) {
      if (event.kind === 'delta') {
        const { delta } = event
        const shown = { ...deltaOf(delta), ...(delta.call && handedBack(thoughts)) }
        if (delta.call) thoughts = []
        return begin(event.choice) + choice(event.choice, shown, null, delta.logprobs)
      }
      if (event.kind === 'thought') {
        kept.keepEntry(...textsOf(event.thought))
        thoughts.push(event.thought)
        return ''
      }
      if (event.kind === 'end') return begin(event.choice) + choice(event.choice, {}, event.finish)
      frame = {
        id: event.id,
        object: 'chat.completion.chunk',
        created: request.createdSeconds,
        model: event.model,
        ...(request.includeUsage && { usage: null }),
      }
      return choice(0, BEGINNING, null)
    },
    end(usage) {
      const counted = usage !== undefined && request.includeUsage
      const last = counted ? chunk({ choices: [], usage: usageOf(usage) }) : ''
      return `${last}${STREAM_END}`
    },
  }
}

function textsOf(thought: Thought): string[] {
  return thought.type === 'thinking' ? [thought.thinking, thought.signature] : [thought.data]
}

const BEGINNING = { role: 'assistant', content: '' }
function deltaOf({ text, reasoning, refusal, call }: ChatDelta): Json {
  if (text !== undefined) return { content: text }
  if (reasoning !== undefined) return { reasoning_content: reasoning }
  if (refusal !== undefined) return { refusal }
  if (call === undefined) return {}
  const { index, id, name, arguments: part, extra } = call
  if (id === undefined) return { tool_calls: [{ index, function: { arguments: part } }] }
  const own = extra && { extra_content: extra }
  const whole = { index, id, type: 'function', function: { name, arguments: part }, ...own }
  return { tool_calls: [whole] }
}
