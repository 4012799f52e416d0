/** The facts about Anthropic's hosted API. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { CLAUDES, cacheable } from './models.ts'

export const facts: ProviderFacts = {
  name: 'anthropic',
  summary: "Anthropic's Messages API.",
  hosted: true,
  parameters: {
    top_k: { values: { kind: 'integer', least: 0, most: 1_000_000 } },
    thinking: { values: { kind: 'object' } },
  },
  writable: {
    reasoning: true,
    efforts: true,
    thinking: ['budget', 'adaptive'],
    thinking_tokens: true,
    call_id_length: true,
  },
  cacheable,
  calls: { name: /^[a-zA-Z0-9_-]+$/, nameMax: 128, id: /^/ },
  aliases: ['claude'],
  defaultEndpoint: 'https://api.anthropic.com/v1',
  settings: ['api_version'],
  listedAs: (model) => [model, `anthropic/${model}`],
  countsSearches: true,
  extras: [
    'code_execution',
    'files',
    'inference_geo',
    'mcp',
    'other_tools',
    'speed',
    'web_fetch',
    'web_search',
  ],
  credentialHeader: 'x-api-key',
  modelList: { path: '/models?limit=1000', headers: { 'anthropic-version': '2023-06-01' } },
  models: CLAUDES,
}
