/** The facts about Hugging Face's Text Generation Inference. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'tgi',
  summary: "Hugging Face's Text Generation Inference.",
  hosted: false,
  port: 3000,
  aliases: ['huggingfacetgi', 'textgenerationinference'],
  healthPath: '/health',
  queueGauges: {
    waiting: [{ metric: 'tgi_queue_size' }],
    running: [{ metric: 'tgi_batch_current_size' }],
  },
}
