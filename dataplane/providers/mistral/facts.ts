/** The facts about Mistral's hosted API. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { MODELS } from './models.ts'

export const facts: ProviderFacts = {
  name: 'mistral',
  genAiName: 'mistral_ai',
  summary: "Mistral's hosted API.",
  hosted: true,
  parameters: {
    safe_prompt: { values: { kind: 'boolean' } },
    prompt_mode: { values: { kind: 'one of', values: ['reasoning'] } },
  },
  writable: { reasoning: true, efforts: true },
  calls: { name: /^[a-zA-Z0-9_-]+$/, nameMax: 64, id: /^/ },
  aliases: ['mistralai'],
  defaultEndpoint: 'https://api.mistral.ai/v1',
  listedAs: (model) => [`mistral/${model}`, model],
  requestIdHeader: 'mistral-correlation-id',
  models: MODELS,
}
