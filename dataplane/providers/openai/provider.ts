/** OpenAI's hosted API, and every service with exactly the same API. */
import type { Recogniser } from '../failures/classify.ts'
import { bearer, openAiLike } from '../openai-like/provider.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  // Servers that imitate OpenAI often omit the code.
  { class: 'context', status: [400], says: /maximum context length is/ },
]

export const openai = openAiLike(facts, {
  maxTokens: 'max_completion_tokens',
  // DeepSeek and Kimi refuse a turn that continues after calls without its thinking.
  takes: { developerRole: true, reasoning: 'reasoning_content' },
  isStrict: true,
  authentication: (dialect) => ({
    ...bearer(dialect),
    ...(dialect.project !== undefined && { 'openai-project': dialect.project }),
  }),
  responses: { seals: true, keeps: true },
  completions: {},
  embeddings: { takesTokens: true },
  transcription: {},
  recognisers: RECOGNISERS,
})
