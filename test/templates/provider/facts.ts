/** The facts about template. */
import type { ProviderFacts } from '../../../dataplane/wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'template',
  summary: 'The template server.',
  hosted: false,
  healthPath: '/health',
}
