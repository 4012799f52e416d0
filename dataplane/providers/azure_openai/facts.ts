/** The facts about Azure OpenAI. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'azure_openai',
  summary: 'Azure OpenAI.',
  hosted: true,
  aliases: ['azure'],
  spellings: ['azure', 'azure-openai'],
  settings: ['deployment', 'api_version'],
  requires: {
    setting: 'endpoint',
    message: 'required: azure_openai has an address for each resource',
    fix: 'Add endpoint: https://<resource>.openai.azure.com.',
  },
  credentialHeader: 'api-key',
}
