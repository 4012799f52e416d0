/** llama.cpp's server. */
import type { ChatBody } from '../../wire/inner-form.ts'
import type { Provider } from '../../wire/provider.ts'
import { hintsExcept } from '../../wire/unsupported.ts'
import type { Recogniser } from '../failures/classify.ts'
import { OF_THE_REQUEST } from '../failures/of-the-request.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { rerankOf } from '../rerank/operation.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  { class: 'context', type: 'exceed_context_size_error' },
  // Every path answers this while the model loads.
  { class: 'overloaded', type: 'unavailable_error' },
  // The server reports a mistake in a request as an internal exception.
  { class: 'client', status: [500, 501], says: OF_THE_REQUEST },
]

const like = openAiLike(facts, {
  // Older builds support no other form.
  maxTokens: 'max_tokens',
  maxTokensOnly: true,
  takes: { reasoning: 'reasoning_content', picturesInResults: true, objectArguments: true },
  cannot: HOSTED_MEMBERS,
  hints: hintsExcept('reasoning_effort', 'seed'),
  // A second limit that overrides max_tokens, a position in the queue, another model.
  own: ['id_slot', 'lora', 'n_predict'],
  rewrite: parallelByDefault,
  completions: {
    cannot: ['best_of', 'echo', 'suffix'],
    hints: hintsExcept('seed'),
    rewrite: ({ logprobs }) => (logprobs === 0 ? { logprobs: 1 } : {}),
    usagePerChoice: true,
    chatLogprobs: true,
  },
  besideUsage: ['timings'],
  embeddings: { hints: hintsExcept() },
  recognisers: RECOGNISERS,
})

export const llamacpp: Provider = {
  ...like,
  operations: {
    ...like.operations,
    rerank: rerankOf(RECOGNISERS, { ignores: ['max_tokens_per_doc'] }),
  },
}

/** OpenAI's default allows several tool calls at once; llama.cpp's default does not. */
function parallelByDefault(body: ChatBody): Record<string, unknown> {
  const asked = Array.isArray(body.tools) && body.tools.length > 0
  return asked && (body.parallel_tool_calls ?? null) === null ? { parallel_tool_calls: true } : {}
}
