/** The template server: it speaks OpenAI's wire but for what stands here. */
import type { Recogniser } from '../../../dataplane/providers/failures/classify.ts'
import { openAiLike } from '../../../dataplane/providers/openai-like/provider.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'context', status: [400], says: /maximum context length/ },
]

export const template = openAiLike(facts, {
  maxTokens: 'max_tokens',
  recognisers: RECOGNISERS,
})
