/** The usage of an answer, and the end of a stream, in OpenAI's form. */
import type { Usage } from '../../wire/inner-form.ts'

export const STREAM_END = 'data: [DONE]\n\n'

export function usageOf(usage: Usage): Readonly<Record<string, unknown>> {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = usage
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
