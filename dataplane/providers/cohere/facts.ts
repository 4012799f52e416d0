/** The facts about Cohere's hosted API. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { MODELS } from './models.ts'

export const facts: ProviderFacts = {
  name: 'cohere',
  summary: "Cohere's hosted API.",
  hosted: true,
  parameters: {
    top_k: { values: { kind: 'integer', least: 0, most: 500 }, as: 'k' },
    safety_mode: { values: { kind: 'one of', values: ['CONTEXTUAL', 'STRICT', 'OFF'] } },
    citation_options: { values: { kind: 'object' } },
    thinking: { values: { kind: 'object' } },
  },
  writable: { reasoning: true, thinking_tokens: true, call_id_length: true },
  calls: { name: /^[a-zA-Z0-9_-]+$/, nameMax: 128, id: /^/ },
  defaultEndpoint: 'https://api.cohere.com/v2',
  versionPath: '/v2',
  modelList: false,
  listedAs: (model) => [model, `cohere/${model}`, `cohere_chat/${model}`],
  requestIdHeader: 'x-debug-trace-id',
  takesInputType: true,
  models: MODELS,
}
