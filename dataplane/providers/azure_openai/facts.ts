/** The facts about Azure OpenAI. */
import { OF_OPENAI } from '../../wire/extras.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { baseName } from '../openai/models.ts'
import { OF_RUNTIMES } from '../routing-members.ts'
import { basePathOf, isDated } from './address.ts'
import { MODELS } from './models.ts'

export const facts: ProviderFacts = {
  name: 'azure_openai',
  genAiName: 'azure.ai.openai',
  summary: 'Azure OpenAI, by its /openai/v1 paths or, with a dated api_version, by deployment.',
  hosted: true,
  writable: {
    reasoning: true,
    efforts: true,
    thinking_member: true,
    call_id_length: true,
    wires: ['chat', 'responses'],
  },
  asksResponses: true,
  calls: { name: /^[a-zA-Z0-9_-]+$/, nameMax: 64, id: /^/, idMax: 40 },
  natives: ['responses'],
  // Few dated versions have it.
  nativeDefault: (settings) => (isDated(settings) ? [] : ['responses']),
  aliases: ['azure'],
  spellings: ['azure', 'azure-openai'],
  basePath: basePathOf,
  listedAs: (model) => [`azure/${model}`, `azure_ai/${model}`, model],
  extras: OF_OPENAI,
  foreign: OF_RUNTIMES,
  settings: ['deployment', 'api_version'],
  requires: {
    setting: 'endpoint',
    message: 'required: azure_openai has an address for each resource',
    fix: 'Add endpoint: https://<resource>.openai.azure.com.',
  },
  keyless: [],
  credentialHeader: 'api-key',
  // Its list has the models of the region, not the deployments.
  modelList: false,
  modelName: baseName,
  models: MODELS,
}
