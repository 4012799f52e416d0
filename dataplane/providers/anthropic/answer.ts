/** Reads Anthropic's whole answers. */

import {
  countOf,
  isRecord,
  type Json,
  parsedBytes,
  recordOf,
  rowOf,
  textOf,
} from '../../json/values.ts'
import type {
  ChatAnswer,
  ChatChoice,
  FinishReason,
  ToolCall,
  Usage,
} from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded } from '../../wire/provider.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { type Asker, keepThoughts, thoughtIn } from './thoughts.ts'

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}
const REFUSED = 'The model refused to answer.'

export function readMessage(
  body: Buffer,
  asker: Asker & Asked,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<ChatAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && isError(answer)) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  if (!isRecord(answer) || !Array.isArray(answer.content)) {
    return { kind: 'failure', failure: malformed('The upstream answered without content.') }
  }
  const choices = [choiceOf(answer, answer.content.map(recordOf), origin.model, asker)]
  const { id, model } = answer
  const read = { id: completionId(id), model: textOf(model) ?? '', choices }
  return { kind: 'answer', answer: read, usage: readUsage(answer.usage) }
}

function choiceOf(
  answer: Json,
  blocks: readonly Json[],
  vouching: string,
  asker: Asker & Asked,
): ChatChoice {
  const text = blocks.map((block) => (block.type === 'text' ? textOf(block.text) : '')).join('')
  const reasoning = blocks.map((block) => textOf(block.thinking)).join('')
  const refusal = refusalOf(answer)
  const ids = new CallIds(asker)
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map((block, place) => toolCall(block, ids, `${textOf(answer.id)}/${place}`))
  const thoughts = blocks.flatMap((block) => thoughtIn(block, vouching))
  keepThoughts(thoughts, calls, asker)
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    ...(thoughts.length > 0 && { thoughts }),
    ...(refusal !== undefined && { refusal }),
    calls,
    finish: finishReason(answer.stop_reason, calls.length > 0),
  }
}

function toolCall({ id, name, input }: Json, ids: CallIds, place: string): ToolCall {
  const text = JSON.stringify(input ?? {})
  return { id: ids.of(textOf(id), place), name: textOf(name) ?? '', arguments: text }
}

/** The text of a refusal, from a message or from a stream's `message_delta`. */
export function refusalOf(message: Json): string | undefined {
  if (message.stop_reason !== 'refusal') return undefined
  return textOf(recordOf(message.stop_details).explanation) ?? REFUSED
}

export function finishReason(reason: unknown, called: boolean): FinishReason {
  const known = rowOf(FINISH, reason) ?? 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

export function completionId(id: unknown): string {
  return `chatcmpl-${textOf(id) ?? 'unknown'}`
}

/** The prompt has tokens without a cache, tokens read from the cache, and tokens written into it. */
export function readUsage(usage: unknown): Usage | undefined {
  const counts = recordOf(usage)
  const input = countOf(counts.input_tokens)
  const output = countOf(counts.output_tokens)
  if (input === undefined && output === undefined) return undefined
  const cached = countOf(counts.cache_read_input_tokens) ?? 0
  const written = countOf(counts.cache_creation_input_tokens) ?? 0
  const hourly = Math.min(
    countOf(recordOf(counts.cache_creation).ephemeral_1h_input_tokens) ?? 0,
    written,
  )
  const searches = countOf(recordOf(counts.server_tool_use).web_search_requests)
  const thinking = countOf(recordOf(counts.output_tokens_details).thinking_tokens) ?? 0
  return {
    promptTokens: (input ?? 0) + cached + written,
    completionTokens: output ?? 0,
    cachedTokens: cached,
    cacheWriteTokens: written,
    ...(hourly > 0 && { cacheWrite1hTokens: hourly }),
    reasoningTokens: Math.min(thinking, output ?? 0),
    ...(searches && { searches }),
    estimated: false,
  }
}

/** The members of a usage that the gateway reads; `knownCounts` omits all others. */
const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const

/**
 * The counts of one stream event. Null counts are omitted, so that they do not hide earlier ones. Unknown members are
 * omitted, so that an upstream cannot fill the memory.
 */
export function knownCounts(usage: unknown): Json {
  const said = recordOf(usage)
  const counts: Record<string, unknown> = {}
  for (const name of COUNTS) if (countOf(said[name]) !== undefined) counts[name] = said[name]
  const thinking = countOf(recordOf(said.output_tokens_details).thinking_tokens)
  if (thinking !== undefined) counts.output_tokens_details = { thinking_tokens: thinking }
  const hourly = countOf(recordOf(said.cache_creation).ephemeral_1h_input_tokens)
  if (hourly !== undefined) counts.cache_creation = { ephemeral_1h_input_tokens: hourly }
  return counts
}
