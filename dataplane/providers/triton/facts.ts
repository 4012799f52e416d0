/** The facts about Triton with TensorRT-LLM. */
import { CHAT_TEMPLATES } from '../../wire/models/capabilities.ts'
import type { AddressSettings, ProviderFacts } from '../../wire/provider-facts.ts'

/** The `api_version` with which an upstream is asked by `generate`. */
export const GENERATE = 'v2'

export const facts: ProviderFacts = {
  name: 'triton',
  summary: "Triton's OpenAI frontend with TensorRT-LLM or, with api_version: v2, its generate API.",
  hosted: false,
  parameters: {
    ignore_eos: { values: { kind: 'boolean' } },
    min_tokens: { values: { kind: 'integer', least: 0, most: 10_000_000 } },
  },
  port: 9000,
  aliases: ['nvidiatriton', 'tritoninferenceserver'],
  settings: ['api_version'],
  apiVersions: ['v1', GENERATE],
  basePath: basePathOf,
  needsTemplate: ({ apiVersion }) => apiVersion === GENERATE,
  writable: { chat_template: CHAT_TEMPLATES },
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

/** The path of the OpenAI frontend, or that of Triton itself, whose port is usually 8000. */
function basePathOf(path: string, { apiVersion }: AddressSettings): string {
  if (apiVersion === GENERATE) return `${path.replace(/\/v[12]$/, '')}/v2`
  return path.split('/').some((part) => /^v\d+[a-z0-9]*$/.test(part)) ? path : `${path}/v1`
}
