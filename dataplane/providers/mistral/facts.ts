/** The facts about Mistral's hosted API. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'mistral',
  summary: "Mistral's hosted API.",
  hosted: true,
  aliases: ['mistralai'],
}
