/** The facts about Triton with TensorRT-LLM. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'triton',
  summary: "Triton's OpenAI frontend with TensorRT-LLM.",
  hosted: false,
  parameters: {
    ignore_eos: { values: { kind: 'boolean' } },
    min_tokens: { values: { kind: 'integer', least: 0, most: 10_000_000 } },
  },
  port: 9000,
  aliases: ['nvidiatriton', 'tritoninferenceserver'],
  healthPath: '/v2/health/ready',
  queueGauges: {
    waiting: [
      { metric: 'nv_trt_llm_request_metrics', labels: { request_type: 'waiting' } },
      { metric: 'nv_inference_pending_request_count' },
    ],
    running: [{ metric: 'nv_trt_llm_request_metrics', labels: { request_type: 'active' } }],
    kvShare: [
      {
        metric: 'nv_trt_llm_kv_cache_block_metrics',
        labels: { kv_cache_block_type: 'fraction' },
      },
    ],
  },
}
