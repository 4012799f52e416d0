/** Writes whole answers as messages. Streams use the same members. */

import { randomBytes } from 'node:crypto'
import { argumentsOf } from '../../json/steps/arguments.ts'
import type { Json } from '../../json/values.ts'
import type {
  ChatAnswer,
  ChatRequest,
  FinishReason,
  Sent,
  Thought,
  ToolCall,
  Usage,
} from '../../wire/inner-form.ts'

const STOPS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
const ID_BYTES = 12

export function writeAnswer(
  { choices }: ChatAnswer,
  usage: Usage | undefined,
  request: Sent<ChatRequest>,
): object {
  const [choice] = choices
  const {
    text = '',
    reasoning,
    thoughts = [],
    refusal,
    calls = [],
    finish = 'stop',
    stop,
  } = choice ?? {}
  const said = text + (refusal ?? '')
  const content = [
    ...thinkingOf(reasoning, thoughts),
    ...(said === '' ? [] : [{ type: 'text', text: said }]),
    ...calls.map(toolUse),
  ]
  return {
    ...messageOf(request),
    content,
    ...stopOf({ finish, ...(stop !== undefined && { stop }) }, refusal !== undefined),
    usage: usageOf(usage, request),
  }
}

/** Only the model itself signs; it never gets an empty signature back. */
function thinkingOf(reasoning: string | undefined, thoughts: readonly Thought[]): Json[] {
  const isSigned = thoughts.some(({ type }) => type === 'thinking')
  const unsigned = [{ type: 'thinking', thinking: reasoning, signature: '' }]
  return [...(reasoning === undefined || isSigned ? [] : unsigned), ...thoughts.map(blockOf)]
}

/** The API has no member for the model that signed. */
export function blockOf({ model: _model, ...block }: Thought): Json {
  return block
}

/** The members that an answer and the start of a stream share. */
export function messageOf({ named }: Sent<ChatRequest>): Json {
  return { id: mintedId('msg'), type: 'message', role: 'assistant', model: named }
}

export function mintedId(kind: 'msg' | 'toolu'): string {
  return `${kind}_${randomBytes(ID_BYTES).toString('hex')}`
}

interface Ended {
  readonly finish: FinishReason
  readonly stop?: string | undefined
}

/** Why the answer ended, and at which stop sequence of the client. */
export function stopOf({ finish, stop }: Ended, isRefused: boolean): Json {
  const isStopped = finish === 'stop' && !isRefused && stop !== undefined
  if (isStopped) return { stop_reason: 'stop_sequence', stop_sequence: stop }
  const reason = isRefused && finish === 'stop' ? 'refusal' : STOPS[finish]
  return { stop_reason: reason, stop_sequence: null }
}

/** Here the input count excludes cached tokens. */
export function usageOf(usage: Usage | undefined, request: Sent<ChatRequest>, seen = 0): Json {
  if (usage === undefined) return usageText(request.promptTokens ?? 0, seen)
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens = 0 } = usage
  const read = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens)
  const counts = usageText(read, completionTokens, cachedTokens, cacheWriteTokens)
  const hourly = usage.cacheWrite1hTokens
  if (hourly === undefined) return counts
  const creation = {
    ephemeral_5m_input_tokens: Math.max(0, cacheWriteTokens - hourly),
    ephemeral_1h_input_tokens: hourly,
  }
  return { ...counts, cache_creation: creation }
}

function usageText(input: number, output: number, cached = 0, written = 0): Json {
  return {
    input_tokens: input,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: output,
  }
}

function toolUse({ id, name, arguments: text }: ToolCall): Json {
  return {
    type: 'tool_use',
    id: id === '' ? mintedId('toolu') : id,
    name,
    input: argumentsOf(text),
  }
}
