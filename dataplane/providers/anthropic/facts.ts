/** The facts about Anthropic's hosted API. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { cacheable } from './cacheable.ts'

export const facts: ProviderFacts = {
  name: 'anthropic',
  summary: "Anthropic's Messages API.",
  hosted: true,
  cacheable,
  calls: { name: /^[a-zA-Z0-9_-]{1,128}$/, nameMax: 128, id: /^/ },
  aliases: ['claude'],
  defaultEndpoint: 'https://api.anthropic.com/v1',
  settings: ['api_version'],
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
  modelWindows: {
    'claude-3-haiku': 200_000,
    'claude-3-opus': 200_000,
    'claude-3-5-haiku': 200_000,
    'claude-3-5-sonnet': 200_000,
    'claude-3-7-sonnet': 200_000,
    'claude-sonnet-4': 200_000,
    'claude-opus-4': 200_000,
    'claude-opus-4-1': 200_000,
    'claude-sonnet-4-5': 200_000,
    'claude-haiku-4-5': 200_000,
  },
}
