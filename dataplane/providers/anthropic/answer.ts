/** Reads Anthropic's whole answers as chat completions. */
import type { ChatRequest, Usage } from '../../call.ts'
import { countOf, isRecord, parsed, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { Answer } from '../contract.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'

type Json = Readonly<Record<string, unknown>>

const FINISH: Readonly<Record<string, string>> = {
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
  request: ChatRequest,
  recognisers: readonly Recogniser[],
): Answer {
  const answer = parsed(body.toString())
  if (isRecord(answer) && isError(answer)) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  if (!isRecord(answer) || !Array.isArray(answer.content)) {
    return { kind: 'failure', failure: malformed('The upstream answered without content.') }
  }
  const blocks = answer.content.map(recordOf)
  const usage = readUsage(answer.usage)
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall)
  const completion = {
    id: completionId(answer.id),
    object: 'chat.completion',
    created: request.createdSeconds,
    model: answer.model,
    choices: [
      {
        index: 0,
        message: messageOf(answer, blocks, calls),
        logprobs: null,
        finish_reason: finishReason(answer.stop_reason, calls.length > 0),
      },
    ],
    ...(usage && { usage: usageObject(usage, answer.usage) }),
  }
  return { kind: 'answer', body: JSON.stringify(completion), usage }
}

function messageOf(answer: Json, blocks: readonly Json[], calls: readonly Json[]): Json {
  const text = blocks.map((block) => (block.type === 'text' ? textOf(block.text) : '')).join('')
  const thinking = blocks.map((block) => textOf(block.thinking)).join('')
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: refusalOf(answer) ?? null,
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function toolCall(block: Json): Json {
  const { id, name, input } = block
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}

/** The words of a refusal, from a message or from a stream's `message_delta`. */
export function refusalOf(message: Json): string | undefined {
  if (message.stop_reason !== 'refusal') return undefined
  return textOf(recordOf(message.stop_details).explanation) ?? REFUSED
}

export function finishReason(reason: unknown, called: boolean): string {
  const known = rowOf(FINISH, reason) ?? 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

export function completionId(id: unknown): string {
  return `chatcmpl-${textOf(id) ?? 'unknown'}`
}

/** The prompt is what was read anew, what was read from the cache and what was written into it. */
export function readUsage(usage: unknown): Usage | undefined {
  const counts = recordOf(usage)
  const input = countOf(counts.input_tokens)
  const output = countOf(counts.output_tokens)
  if (input === undefined && output === undefined) return undefined
  const cached = countOf(counts.cache_read_input_tokens) ?? 0
  const thinking = countOf(recordOf(counts.output_tokens_details).thinking_tokens) ?? 0
  return {
    promptTokens: (input ?? 0) + cached + cacheWritten(counts),
    completionTokens: output ?? 0,
    cachedTokens: cached,
    reasoningTokens: Math.min(thinking, output ?? 0),
    estimated: false,
  }
}

export function usageObject(usage: Usage, source: unknown): Json {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      cache_write_tokens: cacheWritten(recordOf(source)),
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

function cacheWritten(counts: Json): number {
  return countOf(counts.cache_creation_input_tokens) ?? 0
}
