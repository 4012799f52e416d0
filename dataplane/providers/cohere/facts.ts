/** The facts about Cohere's hosted API. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'cohere',
  summary: "Cohere's hosted API.",
  hosted: true,
}
