/** SGLang's OpenAI-compatible server. */
import type { Provider } from '../../wire/provider.ts'
import { hintsExcept } from '../../wire/unsupported.ts'
import type { Recogniser } from '../failures/classify.ts'
import { openAiLike } from '../openai-like/provider.ts'
import { HOSTED_MEMBERS } from '../openai-like/request.ts'
import { rerankOf } from '../rerank/operation.ts'
import { facts } from './facts.ts'

const RECOGNISERS: readonly Recogniser[] = [
  // In a stream this is the first event of an answer with status 200.
  { class: 'overloaded', says: /request queue is full|aborted by a higher priority request/ },
  {
    class: 'context',
    status: [400],
    says: /longer than the model's context length|maximum context length/,
  },
]

/** These change the runtime: its queue, ids of other requests, sessions, other servers, another model, code. */
const OWN = [
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
  'custom_logit_processor',
  'data_parallel_rank',
  'lora_path',
  'priority',
  'request_id',
  'rid',
  'session_params',
]

const like = openAiLike(facts, {
  maxTokens: 'max_tokens',
  takes: { reasoning: 'reasoning_content', picturesInResults: true, objectArguments: true },
  repeatsUsage: true,
  cannot: HOSTED_MEMBERS,
  hints: hintsExcept('reasoning_effort', 'seed'),
  failing: ['abort', 'error'],
  own: OWN,
  completions: { cannot: ['best_of'], hints: hintsExcept('seed') },
  embeddings: { hints: hintsExcept() },
  recognisers: RECOGNISERS,
})

export const sglang: Provider = {
  ...like,
  operations: {
    ...like.operations,
    rerank: rerankOf(RECOGNISERS, {
      ignores: ['max_tokens_per_doc'],
      always: { return_documents: false },
    }),
  },
}
