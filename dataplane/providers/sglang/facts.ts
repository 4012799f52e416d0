/** The facts about SGLang's server. */
import type { ProviderFacts } from '../facts-contract.ts'

/** With priority scheduling it reports each priority beside the total, whose label is empty. */
const TOTAL = { priority: '' }

export const facts: ProviderFacts = {
  name: 'sglang',
  summary: "SGLang's OpenAI-compatible server.",
  hosted: false,
  port: 30_000,
  healthPath: '/health',
  queueGauges: {
    waiting: [{ metric: 'sglang:num_queue_reqs', labels: TOTAL }],
    running: [{ metric: 'sglang:num_running_reqs', labels: TOTAL }],
  },
}
