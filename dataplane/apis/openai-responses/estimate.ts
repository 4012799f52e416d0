/** Usage of an answer whose upstream did not say: clients of this API read it without asking whether it is there. */
import type { ChatRequest, Usage } from '../../inner-form.ts'
import { estimatePromptTokens } from '../../tokens/count.ts'

const CHARACTERS_PER_TOKEN = 4

export function estimated(request: ChatRequest, characters: number): Usage {
  return {
    promptTokens: estimatePromptTokens(request),
    completionTokens: Math.ceil(characters / CHARACTERS_PER_TOKEN),
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  }
}
