/** OpenAI's hosted API, and every service with exactly the same API. */
import type { Recogniser } from '../failures/classify.ts'
import { bearer, openAiLike } from '../openai-like/provider.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  // Servers that imitate OpenAI often omit the code.
  { class: 'context', status: [400], says: /maximum context length is/ },
  // The account has no money left, or is not active.
  { class: 'quota', code: 'billing_hard_limit_reached' },
  { class: 'quota', type: 'billing_not_active' },
  { class: 'quota', status: [400], says: /^Your credit balance is too low/ },
  // xAI, Gemini and other services refuse a key with 400.
  { class: 'credential', status: [400], says: /^Incorrect API key provided/ },
  { class: 'credential', status: [400], says: /^API key (?:not valid|not found|expired)/i },
  { class: 'credential', status: [400], type: 'FAILED_PRECONDITION' },
]

export const openai = openAiLike(facts, {
  maxTokens: 'max_completion_tokens',
  // DeepSeek and Kimi refuse a turn that continues after calls without its thinking.
  takes: { developerRole: true, reasoning: 'reasoning_content' },
  isStrict: true,
  // OpenRouter ends a stream so if the model's server failed.
  failing: ['error'],
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
