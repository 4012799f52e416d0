/** Members of OpenAI's answers that runtimes write in several ways: usage, reasoning, log probabilities. */

import {
  argumentsText,
  countOf,
  isRecord,
  type Json,
  listOf,
  recordOf,
  textOf,
} from '../../json/values.ts'
import type { Usage } from '../../wire/inner-form.ts'
import type { CallPiece } from '../answers/call-pieces.ts'

/** Choices beyond the client's limit have no calls to store. */
export const CHOICES_MAX = 128

/** The usage if its numbers are valid, else undefined. `extras`: the answer around it. */
export function readUsage(
  usage: unknown,
  extras: Readonly<Record<string, unknown>> = {},
): Usage | undefined {
  if (!isRecord(usage)) return undefined
  const { prompt, completion } = halvesOf(usage)
  if (prompt === undefined && completion === undefined) return undefined
  const details = recordOf(usage.prompt_tokens_details)
  // Older llama.cpp reports cached tokens only beside the usage.
  const cached = countOf(details.cached_tokens) ?? countOf(recordOf(extras.timings).cache_n)
  const written = countOf(details.cache_write_tokens)
  // SGLang reports reasoning tokens one level higher than OpenAI.
  const reasoning =
    countOf(recordOf(usage.completion_tokens_details).reasoning_tokens) ??
    countOf(usage.reasoning_tokens)
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    cachedTokens: Math.min(cached ?? 0, prompt ?? 0),
    ...(written && { cacheWriteTokens: Math.min(written, prompt ?? 0) }),
    reasoningTokens: Math.min(reasoning ?? 0, completion ?? 0),
    estimated: false,
    ...(prompt === undefined && { lacks: 'promptTokens' }),
    ...(completion === undefined && { lacks: 'completionTokens' }),
  }
}

/**
 * The answer or chunk with the details of its usage where OpenAI has them: SGLang reports thinking, and llama.cpp cached
 * tokens, at other places. The same object if nothing changes.
 */
export function withUsageDetails(answer: Json): Json {
  const { usage } = answer
  if (!isRecord(usage)) return answer
  const { reasoning_tokens: thought, ...rest } = usage
  const details = recordOf(usage.completion_tokens_details)
  const prompt = recordOf(usage.prompt_tokens_details)
  // Most answers have none, and pass as they are.
  const reasoning = countOf(thought) || undefined
  const cached = countOf(recordOf(answer.timings).cache_n)
  const isCached = cached !== undefined && countOf(prompt.cached_tokens) === undefined
  if (reasoning === undefined && !isCached) return answer
  return {
    ...answer,
    usage: {
      ...(reasoning === undefined ? usage : rest),
      ...(reasoning !== undefined && {
        completion_tokens_details: { reasoning_tokens: reasoning, ...details },
      }),
      ...(isCached && { prompt_tokens_details: { ...prompt, cached_tokens: cached } }),
    },
  }
}

/** A missing or invalid half is the total less the other half. */
function halvesOf({ prompt_tokens, completion_tokens, total_tokens }: Json) {
  const [prompt, completion] = [countOf(prompt_tokens), countOf(completion_tokens)]
  const total = countOf(total_tokens)
  const rest = (one: number | undefined) =>
    total === undefined || one === undefined ? undefined : countOf(total - one)
  return { prompt: prompt ?? rest(completion), completion: completion ?? rest(prompt) }
}

/** Occurs in every event and answer with the other name. */
export const OTHER_NAME = '"reasoning"'

/** A message or a delta; the same object if nothing changes. */
export function withReasoning(message: Json): Json {
  if (typeof message.reasoning !== 'string' || textOf(message.reasoning_content)) return message
  const { reasoning, ...rest } = message
  return { ...rest, reasoning_content: reasoning }
}

/** An answer or a chunk of one; the same object if nothing changes. */
export function withReasonings(answer: Json, member: 'message' | 'delta'): Json {
  let renamed = false
  const choices = listOf(answer.choices).map((choice) => {
    const before = recordOf(recordOf(choice)[member])
    const after = withReasoning(before)
    if (after === before) return choice
    renamed = true
    return { ...recordOf(choice), [member]: after }
  })
  return renamed ? { ...answer, choices } : answer
}

export function withBytes(logprobs: unknown): unknown {
  if (!isRecord(logprobs) || !Array.isArray(logprobs.content)) return logprobs
  return { ...logprobs, content: logprobs.content.map(withTokenBytes) }
}

function withTokenBytes(token: unknown): unknown {
  if (!isRecord(token)) return token
  const top = listOf(token.top_logprobs)
  return { bytes: null, ...token, ...(top.length > 0 && { top_logprobs: top.map(withTokenBytes) }) }
}

/** The index of a choice among the requested choices. */
export function indexOf({ index }: Readonly<Record<string, unknown>>): number {
  return countOf(index) ?? 0
}

/** A piece of a call in a delta. Some runtimes send the arguments as an object. */
export function pieceOf(call: Json): CallPiece {
  const { name, arguments: part } = recordOf(call.function)
  return {
    index: countOf(call.index),
    id: textOf(call.id),
    name: textOf(name),
    arguments: isRecord(part) ? argumentsText(part) : (textOf(part) ?? ''),
  }
}
