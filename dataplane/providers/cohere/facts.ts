/** The facts about Cohere's hosted API. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'cohere',
  summary: "Cohere's hosted API.",
  hosted: true,
  calls: { name: /^[a-zA-Z0-9_-]{1,128}$/, nameMax: 128, id: /^/ },
  defaultEndpoint: 'https://api.cohere.com/v2',
  versionPath: '/v2',
  requestIdHeader: 'x-debug-trace-id',
  takesInputType: true,
  modelWindows: {
    'c4ai-aya-expanse-8b': 8_000,
    'c4ai-aya-expanse-32b': 128_000,
    'command-a-03-2025': 256_000,
    'command-a-reasoning-08-2025': 256_000,
    'command-a-vision-07-2025': 128_000,
    'command-r-08-2024': 128_000,
    'command-r-plus-08-2024': 128_000,
    'command-r7b-12-2024': 128_000,
  },
}
