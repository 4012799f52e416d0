/** OpenAI's hosted API, and everything else that speaks exactly like it. */
import type { Recogniser } from '../failures/classify.ts'
import { bearer, openAiLike } from '../openai-like/provider.ts'
import { facts } from './facts.ts'
import { hintsOfModel, responsesFor, takes } from './models.ts'

const RECOGNISERS: readonly Recogniser[] = [
  // Servers that imitate OpenAI often leave out the code.
  { class: 'context', status: [400], says: /maximum context length is/ },
]

export const openai = openAiLike(facts, {
  // Reasoning models refuse `max_tokens`; a client that sends it all the same gets their
  // explanation.
  maxTokens: 'max_completion_tokens',
  takes,
  hintsOfModel,
  responsesFor,
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
