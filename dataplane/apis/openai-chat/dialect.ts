/** Writes OpenAI's chat completions from the inner form, for upstreams with another wire. */

import type { KeptText } from '../../base/kept-text.ts'
import type { Json } from '../../json/values.ts'
import type { Dialect, StreamWriter } from '../../wire/dialect.ts'
import type {
  ChatAnswer,
  ChatChoice,
  ChatDelta,
  ChatEvent,
  ChatRequest,
  Picture,
  Sent,
  Thought,
  ToolCall,
  Usage,
} from '../../wire/inner-form.ts'
import { openCostsOf } from '../openai/costs.ts'
import { STREAM_END, usageOf } from '../openai/usage.ts'
import { chatReading, OPENAI_CHAT } from './reading.ts'

export const openAiChatDialect: Dialect<'chat'> = {
  wire: OPENAI_CHAT,
  operation: 'chat',
  reading: chatReading,
  writeAnswer,
  openWriter,
  openCosts: openCostsOf('chat.completion.chunk', { delta: {} }),
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
  const { text, reasoning, refusal = null, calls, finish, logprobs = null } = choice
  const { thoughts, pictures = [] } = choice
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(pictures.length > 0 && { images: pictures.map(imageOf) }),
    ...(calls.length > 0 && { tool_calls: calls.map(callOf), ...handedBack(thoughts) }),
  }
  return { index, message, logprobs, finish_reason: finish }
}

/** Clients send them back with the message, like its calls. */
function handedBack(thoughts: readonly Thought[] = []): Json {
  return thoughts.length > 0 ? { thinking_blocks: thoughts } : {}
}

/** The form of OpenRouter and LiteLLM. */
function imageOf({ url, extra }: Picture, index: number): Json {
  return { type: 'image_url', image_url: { url }, index, ...(extra && { extra_content: extra }) }
}

function callOf({ id, name, arguments: text, extra }: ToolCall): Json {
  const own = extra && { extra_content: extra }
  return { id, type: 'function', function: { name, arguments: text }, ...own }
}

function openWriter(request: Sent<ChatRequest>, kept: KeptText): StreamWriter<ChatEvent> {
  let frame: Json = {}
  let thoughts: Thought[] = []
  /** Choices whose first chunk, with the role, has been sent. */
  const begun = new Set([0])
  /** The number of pictures in each choice. */
  const painted = new Map<number, number>()
  const chunk = (members: Json) => `data: ${JSON.stringify({ ...frame, ...members })}\n\n`
  const choice = (index: number, delta: Json, finish: string | null, logprobs: unknown = null) =>
    chunk({ choices: [{ index, delta, logprobs, finish_reason: finish }] })
  const begin = (index: number) => {
    // An upstream that never stops counting must not fill the memory.
    if (begun.size > request.choices || begun.has(index)) return ''
    begun.add(index)
    return choice(index, BEGINNING, null)
  }
  return {
    write(event) {
      if (event.kind === 'delta') {
        const { delta } = event
        const shown = {
          ...deltaOf(delta, painted.get(event.choice) ?? 0),
          ...(delta.call && handedBack(thoughts)),
        }
        if (delta.picture) painted.set(event.choice, (painted.get(event.choice) ?? 0) + 1)
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
function deltaOf({ text, reasoning, refusal, picture, call }: ChatDelta, pictures: number): Json {
  if (text !== undefined) return { content: text }
  if (reasoning !== undefined) return { reasoning_content: reasoning }
  if (refusal !== undefined) return { refusal }
  if (picture !== undefined) return { images: [imageOf(picture, pictures)] }
  if (call === undefined) return {}
  const { index, id, name, arguments: part, extra } = call
  if (id === undefined) return { tool_calls: [{ index, function: { arguments: part } }] }
  const own = extra && { extra_content: extra }
  const whole = { index, id, type: 'function', function: { name, arguments: part }, ...own }
  return { tool_calls: [whole] }
}
