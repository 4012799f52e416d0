/** vLLM's OpenAI-compatible server. */
import type { Provider } from '../../wire/provider.ts'
import { hintsExcept } from '../../wire/unsupported.ts'
import type { Recogniser } from '../failures/classify.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { rerankOf } from '../rerank/operation.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  {
    class: 'context',
    status: [400],
    says: /context length is|longer than the maximum model length of/,
  },
]

const like = openAiLike(facts, {
  maxTokens: 'max_tokens',
  takes: { reasoning: 'reasoning', picturesInResults: true, objectArguments: true },
  repeatsUsage: true,
  cannot: HOSTED_MEMBERS,
  hints: hintsExcept('reasoning_effort', 'seed'),
  failing: ['abort', 'error'],
  // These change the runtime: its queue, ids of other requests, caches of other servers, tensors.
  own: ['kv_transfer_params', 'priority', 'prompt_embeds', 'request_id'],
  completions: {
    // vLLM ignores this one.
    cannot: ['best_of'],
    hints: hintsExcept('seed'),
  },
  transcription: { isLikeChat: true },
  embeddings: { hints: hintsExcept() },
  recognisers: RECOGNISERS,
})

export const vllm: Provider = {
  ...like,
  operations: { ...like.operations, rerank: rerankOf(RECOGNISERS) },
}
