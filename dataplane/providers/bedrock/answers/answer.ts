/** Reads Bedrock's whole answers. */

import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedBytes,
  recordOf,
  rowOf,
  textOf,
} from '../../../json/values.ts'
import type {
  ChatAnswer,
  ChatChoice,
  ChatRequest,
  FinishReason,
  Sent,
  ToolCall,
  Usage,
} from '../../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded, Failure } from '../../../wire/provider.ts'
import { CallIds } from '../../answers/call-ids.ts'
import { keepThoughts, thoughtIn } from '../../anthropic/thoughts.ts'
import { isError } from '../../failures/bodies.ts'
import { malformed, unlikeAsked } from '../../failures/classify.ts'
import { classifyException } from '../errors.ts'
import { mediaFailure, pictureIn } from './pictures.ts'

const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
  refusal: 'content_filter',
}
const REFUSED = 'A guardrail or content filter blocked the answer.'

export function readAnswer(
  body: Buffer,
  request: Sent<ChatRequest>,
  { model, id }: AnswerOrigin,
): Decoded<ChatAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && (isError(answer) || textOf(answer.__type) !== undefined)) {
    return { kind: 'failure', failure: classifyException(body.toString()) }
  }
  const { content } = recordOf(recordOf(recordOf(answer).output).message)
  if (!isRecord(answer) || !Array.isArray(content)) {
    return { kind: 'failure', failure: malformed('The upstream answered without content.') }
  }
  const lost = content.map((block) => mediaFailure(recordOf(block))).find(Boolean)
  const failure = failureOf(answer.stopReason) ?? lost
  if (failure !== undefined) return { kind: 'failure', failure }
  const choices = [choiceOf(answer.stopReason, content.map(recordOf), model, request)]
  return {
    kind: 'answer',
    answer: { id: `chatcmpl-${id}`, model, choices },
    usage: readUsage(answer.usage),
  }
}

function choiceOf(
  reason: unknown,
  blocks: readonly Json[],
  vouching: string,
  request: Sent<ChatRequest>,
): ChatChoice {
  const { oneCall, tenant } = request
  const ids = new CallIds(request)
  const text = blocks.map(textIn).join('')
  const reasoning = blocks.map(reasoningIn).join('')
  const calls = blocks.flatMap(({ toolUse }, place) =>
    isRecord(toolUse) ? [callOf(toolUse, ids, String(place))] : [],
  )
  const refusal = text === '' ? refusalOf(reason) : undefined
  const pictures = blocks.flatMap((block) => pictureIn(block) ?? [])
  const thoughts = blocks.flatMap(({ reasoningContent }) =>
    thoughtIn(thinkingBlock(recordOf(reasoningContent)), vouching),
  )
  keepThoughts(thoughts, calls, { tenant })
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    ...(thoughts.length > 0 && { thoughts }),
    ...(refusal !== undefined && { refusal }),
    ...(pictures.length > 0 && { pictures }),
    // Not every model can be limited to one call at a time.
    calls: oneCall ? calls.slice(0, 1) : calls,
    finish: finishReason(reason, calls.length > 0),
  }
}

function textIn({ text, citationsContent }: Json): string {
  const cited = listOf(recordOf(citationsContent).content)
  return textOf(text) ?? cited.map((one) => textOf(recordOf(one).text) ?? '').join('')
}

function reasoningIn({ reasoningContent }: Json): string {
  return textOf(recordOf(recordOf(reasoningContent).reasoningText).text) ?? ''
}

/** The thinking in Anthropic's form; models of other makers sign nothing. */
function thinkingBlock({ reasoningText, redactedContent }: Json): Json {
  if (redactedContent !== undefined) return { type: 'redacted_thinking', data: redactedContent }
  const { text, signature } = recordOf(reasoningText)
  return { type: 'thinking', thinking: text, signature }
}

function callOf({ toolUseId, name, input }: Json, ids: CallIds, place: string): ToolCall {
  const text = JSON.stringify(input ?? {})
  return { id: ids.of(textOf(toolUseId), place), name: textOf(name) ?? '', arguments: text }
}

/** The text in place of an answer that the filter removed. */
export function refusalOf(reason: unknown): string | undefined {
  return rowOf(FINISH, reason) === 'content_filter' ? REFUSED : undefined
}

/** The model's own answer was malformed. */
export function failureOf(reason: unknown): Failure | undefined {
  const isSpoiled = reason === 'malformed_model_output' || reason === 'malformed_tool_use'
  return isSpoiled ? unlikeAsked(`The model's answer could not be read: ${reason}.`) : undefined
}

export function finishReason(reason: unknown, called: boolean): FinishReason {
  const known = rowOf(FINISH, reason) ?? 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

/** The prompt has tokens without a cache, tokens read from the cache, and tokens written into it. */
export function readUsage(usage: unknown): Usage | undefined {
  const counts = recordOf(usage)
  const input = countOf(counts.inputTokens)
  const output = countOf(counts.outputTokens)
  if (input === undefined && output === undefined) return undefined
  const cached = countOf(counts.cacheReadInputTokens) ?? 0
  const written = countOf(counts.cacheWriteInputTokens) ?? 0
  const hourly = Math.min(hourlyIn(counts.cacheDetails), written)
  return {
    promptTokens: promptTokens(input ?? 0, output ?? 0, cached + written, counts.totalTokens),
    completionTokens: output ?? 0,
    cachedTokens: cached,
    cacheWriteTokens: written,
    ...(hourly > 0 && { cacheWrite1hTokens: hourly }),
    reasoningTokens: 0,
    estimated: false,
  }
}

/** Prompt tokens that were cached for an hour. */
function hourlyIn(details: unknown): number {
  return listOf(details)
    .map(recordOf)
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + (countOf(inputTokens) ?? 0), 0)
}

/** Some models already include cached tokens in the input; the total shows it. */
function promptTokens(input: number, output: number, cached: number, total: unknown): number {
  const isCounted = countOf(total) === input + output && cached <= input
  return isCounted ? input : input + cached
}
