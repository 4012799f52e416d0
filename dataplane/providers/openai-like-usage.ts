/** Reads the `usage` object of OpenAI's wire, as far as its numbers make sense. */
import type { Usage } from '../call.ts'
import { countOf, isRecord, recordOf } from './json-values.ts'

/** `undefined` when the object holds no count at all. `extras` is the answer around it. */
export function readUsage(
  usage: unknown,
  extras: Readonly<Record<string, unknown>> = {},
): Usage | undefined {
  if (!isRecord(usage)) return undefined
  const prompt = countOf(usage.prompt_tokens)
  const completion = countOf(usage.completion_tokens)
  if (prompt === undefined && completion === undefined) return undefined
  // Older llama.cpp tells cached tokens only beside the usage.
  const cached =
    countOf(recordOf(usage.prompt_tokens_details).cached_tokens) ??
    countOf(recordOf(extras.timings).cache_n)
  // SGLang tells reasoning tokens one level higher than OpenAI.
  const reasoning =
    countOf(recordOf(usage.completion_tokens_details).reasoning_tokens) ??
    countOf(usage.reasoning_tokens)
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    cachedTokens: Math.min(cached ?? 0, prompt ?? 0),
    reasoningTokens: Math.min(reasoning ?? 0, completion ?? 0),
    estimated: false,
  }
}
