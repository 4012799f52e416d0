/** The facts about Google's Gemini API, at Google AI and on Vertex AI. */
import type { AddressSettings, ProviderFacts } from '../../wire/provider-facts.ts'

const MILLION = 1_048_576

export const facts: ProviderFacts = {
  name: 'gemini',
  genAiName: 'gcp.gemini',
  summary: "Google's Gemini API, or with project and region the same models on Vertex AI.",
  hosted: true,
  calls: { name: /^[a-zA-Z_][\w.:-]{0,63}$/, nameMax: 64 },
  aliases: ['googlegemini'],
  defaultEndpoint: (settings) => `https://${hostOf(settings)}${versionPathOf(settings)}`,
  versionPath: versionPathOf,
  settings: ['region', 'project', 'api_version'],
  together: ['project', 'region'],
  extras: ['service_tier'],
  credentialHeader: 'x-goog-api-key',
  keyless: ['project', 'region'],
  takesKeyDocument: true,
  modelWindows: {
    'gemini-2.0-flash': MILLION,
    'gemini-2.0-flash-lite': MILLION,
    'gemini-2.5-pro': MILLION,
    'gemini-2.5-flash': MILLION,
    'gemini-2.5-flash-lite': MILLION,
    'gemini-3-pro-preview': MILLION,
    'gemini-3-flash-preview': MILLION,
    'gemini-3.1-pro-preview': MILLION,
  },
}

/** The place on Vertex AI; undefined for the API of Google AI. */
export function vertexOf({ project, region }: AddressSettings) {
  return project !== undefined && region !== undefined ? { project, region } : undefined
}

/** Vertex AI has a host for each region, another for each group of regions, and one for all together. */
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
