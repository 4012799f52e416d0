/** The facts about vLLM's server. */
import { countOf, recordOf } from '../../json/values.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'vllm',
  summary: "vLLM's OpenAI-compatible server.",
  hosted: false,
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
