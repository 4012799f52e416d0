/** Members that Cohere's whole answers and streams share: content, finish reason, usage, log probabilities. */

import { countOf, isRecord, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatDelta, FinishReason, Usage } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'

const FINISH: Readonly<Record<string, FinishReason>> = {
  COMPLETE: 'stop',
  STOP_SEQUENCE: 'stop',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'tool_calls',
}

/** A block of content, or a piece of a block. */
export function deltaOf(block: unknown): ChatDelta | undefined {
  const text = textOf(recordOf(block).text)
  if (text !== undefined) return { text }
  const reasoning = textOf(recordOf(block).thinking)
  return reasoning === undefined ? undefined : { reasoning }
}

export function finishOf(reason: unknown, called: boolean): FinishReason {
  const known = rowOf(FINISH, reason) ?? 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

/** An aborted generation is reported as an end, but the gateway treats it as a failure. */
export function failureOf(reason: unknown, error: unknown): Failure | undefined {
  const isLate = reason === 'TIMEOUT'
  if (!isLate && !textOf(reason)?.startsWith('ERROR')) return undefined
  const message = textOf(error) ?? `The upstream gave up the generation (${reason}).`
  return { class: isLate ? 'timeout' : 'server', message }
}

/** All tokens that the model read and wrote; only a part of them is billed. */
export function readUsage(usage: unknown): Usage | undefined {
  const { tokens, billed_units: billed, cached_tokens: cached } = recordOf(usage)
  const counts = isRecord(tokens) ? tokens : recordOf(billed)
  const input = countOf(counts.input_tokens)
  const output = countOf(counts.output_tokens)
  if (input === undefined && output === undefined) return undefined
  return {
    promptTokens: input ?? 0,
    completionTokens: output ?? 0,
    cachedTokens: Math.min(countOf(cached) ?? 0, input ?? 0),
    reasoningTokens: 0,
    estimated: false,
  }
}

/** In OpenAI's form. Several tokens in one text share one probability. */
export function logprobsOf(logprobs: unknown): object | undefined {
  const items = (Array.isArray(logprobs) ? logprobs : [logprobs]).map(recordOf)
  const content = items.flatMap(({ text, logprobs: each }) => {
    const token = textOf(text)
    const numbers = listOf(each).filter((one) => typeof one === 'number')
    if (token === undefined || numbers.length === 0) return []
    const logprob = numbers.reduce((sum, one) => sum + one, 0)
    return [{ token, logprob, bytes: [...Buffer.from(token)], top_logprobs: [] }]
  })
  return content.length === 0 ? undefined : { content, refusal: null }
}
