/** The facts about vLLM's server. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'vllm',
  summary: "vLLM's OpenAI-compatible server.",
  hosted: false,
  port: 8000,
  healthPath: '/health',
  queueGauges: {
    waiting: [{ metric: 'vllm:num_requests_waiting' }],
    running: [{ metric: 'vllm:num_requests_running' }],
  },
}
