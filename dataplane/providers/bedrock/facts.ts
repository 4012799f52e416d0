/** The facts about Amazon Bedrock. */
import type { ProviderFacts } from '../facts-contract.ts'

export const facts: ProviderFacts = {
  name: 'bedrock',
  summary: 'Amazon Bedrock.',
  hosted: true,
  aliases: ['awsbedrock', 'amazonbedrock'],
  settings: ['region'],
  requires: {
    setting: 'region',
    message: 'required: bedrock has an address for each region',
    fix: 'Add region:, such as eu-central-1, or endpoint:.',
  },
  keyless: [],
}
