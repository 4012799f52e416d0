/** The facts about Google's Gemini API. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'gemini',
  summary: "Google's Gemini API.",
  hosted: true,
  aliases: ['googlegemini'],
  settings: ['region', 'project', 'api_version'],
  credentialHeader: 'x-goog-api-key',
}
