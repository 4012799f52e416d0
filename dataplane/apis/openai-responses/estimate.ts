/** Estimates the usage if the upstream reports none, because clients of this API read it without a check. */
import type { ChatRequest, Sent, Usage } from '../../wire/inner-form.ts'

const CHARACTERS_PER_TOKEN = 4

export function estimated(request: Sent<ChatRequest>, characters: number): Usage {
  return {
    promptTokens: request.promptTokens ?? 0,
    completionTokens: Math.ceil(characters / CHARACTERS_PER_TOKEN),
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  }
}
