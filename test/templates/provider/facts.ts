/** The facts about template. */
import type { ProviderFacts } from '../../../dataplane/providers/facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'template',
  summary: 'The template server.',
  hosted: false,
  healthPath: '/health',
}
