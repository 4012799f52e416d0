/** A provider that no runtime speaks: binary frames, and a signature over the whole request. */
import type { ProviderFacts } from '../../../dataplane/wire/provider-facts.ts'

export const facts: ProviderFacts = {
  name: 'toy',
  summary: 'A toy with binary frames and signed requests.',
  hosted: false,
  healthPath: '/alive',
  credentialHeader: 'x-toy-signature',
}
