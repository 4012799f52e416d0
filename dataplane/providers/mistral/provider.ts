/**
 * Mistral's hosted API. Its requests are almost OpenAI's, so only the differing bytes change. Chats differ in
 * content, finish reasons and usage, so they use the inner form; embeddings pass.
 */
import type { Provider } from '../../wire/provider.ts'
import type { Recogniser } from '../failures/classify.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { readCompletion } from './answer.ts'
import { facts } from './facts.ts'
import { asMistral, CANNOT, MEMBERS } from './request.ts'
import { openCompletionStream } from './stream.ts'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'context', code: '3051' },
  { class: 'context', status: [400], says: /too large for model|maximum context length/ },
  { class: 'overloaded', code: '3505' },
  { class: 'overloaded', says: /tier capacity exceeded/i },
  { class: 'missing', type: 'invalid_model' },
]

const like = openAiLike(facts, {
  maxTokens: 'max_tokens',
  maxTokensOnly: true,
  usageUnasked: true,
  // `asMistral` renames the role.
  takes: { developerRole: true },
  allow: MEMBERS,
  cannot: CANNOT,
  rewrite: asMistral,
  recognisers: RECOGNISERS,
  embeddings: {
    allow: ['model', 'input'],
    rewrite: ({ dimensions }) => (dimensions === undefined ? {} : { output_dimension: dimensions }),
  },
})

export const mistral: Provider = {
  ...like,
  operations: {
    ...like.operations,
    chat: {
      encode: like.operations.chat.encode,
      decode: (body, request, origin) => readCompletion(body, request, RECOGNISERS, origin),
      openStream: (request, origin, kept) =>
        openCompletionStream(request, RECOGNISERS, origin, kept),
    },
  },
}
