/** The facts about Google's Gemini API, at Google AI and on Vertex AI. */
import type { AddressSettings, ListedPlace, ProviderFacts } from '../../wire/provider-facts.ts'
import { bareName } from './model-name.ts'
import { MODELS } from './models.ts'

export const facts: ProviderFacts = {
  name: 'gemini',
  genAiName: 'gcp.gemini',
  summary: "Google's Gemini API, or with project and region the same models on Vertex AI.",
  hosted: true,
  parameters: {
    top_k: {
      values: { kind: 'integer', least: 1, most: 1_000_000 },
      below: 'generationConfig',
      as: 'topK',
    },
    safetySettings: { values: { kind: 'objects' } },
  },
  writable: {
    reasoning: true,
    efforts: true,
    thinking: ['budget', 'effort'],
    thinking_tokens: true,
  },
  calls: { name: /^[a-zA-Z_][\w.:-]*$/, nameMax: 64 },
  aliases: ['googlegemini'],
  defaultEndpoint: (settings) => `https://${hostOf(settings)}${versionPathOf(settings)}`,
  versionPath: versionPathOf,
  settings: ['region', 'project', 'api_version'],
  together: ['project', 'region'],
  listedAs: (model, place) =>
    vertexOf(place) ? [`vertex_ai/${model}`, model] : [`gemini/${model}`, model],
  extras: ['service_tier'],
  credentialHeader: 'x-goog-api-key',
  modelList: { path: '/models?pageSize=1000' },
  keyless: ['project', 'region'],
  takesKeyDocument: true,
  modelName: bareName,
  models: MODELS,
}

/** The location on Vertex AI; undefined for Google AI. */
export function vertexOf({ project, region }: ListedPlace) {
  return project !== undefined && region !== undefined ? { project, region } : undefined
}

/** Vertex AI has a host for each region, one for each group of regions, and a global one. */
function hostOf(settings: AddressSettings): string {
  const vertex = vertexOf(settings)
  if (vertex === undefined) return 'generativelanguage.googleapis.com'
  const { region } = vertex
  if (region === 'global') return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

function versionPathOf(settings: AddressSettings): string {
  return `/${settings.apiVersion ?? (vertexOf(settings) ? 'v1' : 'v1beta')}`
}
