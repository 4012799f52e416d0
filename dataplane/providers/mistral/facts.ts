/** The facts about Mistral's hosted API. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'mistral',
  genAiName: 'mistral_ai',
  summary: "Mistral's hosted API.",
  hosted: true,
  calls: { name: /^[a-zA-Z0-9_-]{1,64}$/, nameMax: 64, id: /^/ },
  aliases: ['mistralai'],
  defaultEndpoint: 'https://api.mistral.ai/v1',
  requestIdHeader: 'mistral-correlation-id',
  modelWindows: {
    'codestral-2501': 262_144,
    'ministral-3b-2410': 131_072,
    'ministral-8b-2410': 131_072,
    'mistral-large-2407': 131_072,
    'mistral-large-2411': 131_072,
    'mistral-medium-2505': 131_072,
    'mistral-medium-2508': 131_072,
    'mistral-small-2501': 32_768,
    'mistral-small-2503': 131_072,
    'mistral-small-2506': 131_072,
    'open-mistral-nemo': 131_072,
    'pixtral-12b-2409': 131_072,
    'pixtral-large-2411': 131_072,
  },
}
