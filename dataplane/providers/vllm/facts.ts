/** The facts about vLLM's server. */
import { countOf, recordOf } from '../../json/values.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'vllm',
  summary: "vLLM's OpenAI-compatible server.",
  hosted: false,
  parameters: {
    top_k: { values: { kind: 'integer', least: -1, most: 1_000_000 } },
    min_p: { values: { kind: 'number', least: 0, most: 1 } },
    repetition_penalty: { values: { kind: 'number', least: 0, most: 10 } },
    length_penalty: { values: { kind: 'number', least: -10, most: 10 } },
    min_tokens: { values: { kind: 'integer', least: 0, most: 10_000_000 } },
    ignore_eos: { values: { kind: 'boolean' } },
    skip_special_tokens: { values: { kind: 'boolean' } },
    include_stop_str_in_output: { values: { kind: 'boolean' } },
    stop_token_ids: { values: { kind: 'integers' } },
    bad_words: { values: { kind: 'texts' } },
    chat_template_kwargs: { values: { kind: 'object' }, isOfChats: true },
    mm_processor_kwargs: { values: { kind: 'object' }, isOfChats: true },
  },
  writable: {
    reasoning: true,
    efforts: true,
    thinking_member: true,
    call_id_length: true,
    wires: ['chat', 'responses', 'messages'],
  },
  natives: ['responses', 'messages'],
  port: 8000,
  healthPath: '/health',
  listedAs: (model) => [`hosted_vllm/${model}`],
  takesCacheSalt: true,
  tokenQuestions: [
    {
      method: 'POST',
      path: '/tokenize',
      write: (model, { messages, tools }) => ({ model, messages, tools }),
      read: (answer) => countOf(recordOf(answer).count),
    },
  ],
  queueGauges: {
    waiting: [{ metric: 'vllm:num_requests_waiting' }],
    running: [{ metric: 'vllm:num_requests_running' }],
    kvShare: [{ metric: 'vllm:kv_cache_usage_perc' }, { metric: 'vllm:gpu_cache_usage_perc' }],
  },
}
