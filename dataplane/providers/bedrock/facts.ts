/** The facts about Amazon Bedrock. */
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { endpointIn } from './aws/endpoint.ts'
import { namedIn } from './model-name.ts'
import { cacheable, MODELS } from './models.ts'

export const facts: ProviderFacts = {
  name: 'bedrock',
  genAiName: 'aws.bedrock',
  summary: "Amazon Bedrock's Converse API, for all models behind it.",
  hosted: true,
  parameters: {
    additionalModelRequestFields: { values: { kind: 'object' } },
    guardrailConfig: { values: { kind: 'object' } },
    performanceConfig: { values: { kind: 'object' } },
  },
  writable: {
    reasoning: true,
    efforts: true,
    thinking: ['budget', 'adaptive', 'effort'],
    thinking_tokens: true,
    call_id_length: true,
  },
  cacheable,
  calls: { name: /^[a-zA-Z0-9_-]+$/, nameMax: 64, id: /^/ },
  aliases: ['awsbedrock', 'amazonbedrock'],
  settings: ['region'],
  listedAs: (model, { region }) => [
    `bedrock/${region}/${model}`,
    model,
    `bedrock/${model}`,
    model.replace(/^(us|eu|apac|jp|au|global)\./, ''),
  ],
  extras: ['service_tier'],
  takesInputType: true,
  requires: {
    setting: 'region',
    message: 'required: bedrock has an address for each region',
    fix: 'Add region:, such as eu-central-1, or endpoint:.',
  },
  defaultEndpoint: ({ region = '' }) => endpointIn(region),
  versionPath: '',
  modelList: false,
  keyless: [],
  modelName: (model) => namedIn(model).name,
  models: MODELS,
}
