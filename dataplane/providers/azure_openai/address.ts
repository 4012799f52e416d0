/** Addresses of Azure OpenAI: by deployment for a dated API version, else OpenAI's paths below /openai/v1. */
import type { AddressSettings } from '../../wire/provider-facts.ts'

type Version = Pick<AddressSettings, 'apiVersion'>

/** Later versions are words, such as `preview`, and use the second form. */
const DATED = /^\d{4}-\d{2}-\d{2}/
/** Ends of addresses that people copy: of the resource, the v1 API, or one deployment. */
const COPIED = /\/openai(\/v1|\/deployments(\/[^/]+)?)?$/
const RESPONSES = '/responses'
const VERSIONED = /\/v\d+[a-z0-9]*(\/|$)/

export function isDated({ apiVersion }: Version): boolean {
  return apiVersion !== undefined && DATED.test(apiVersion)
}

export function basePathOf(path: string, settings: Version): string {
  const prefix = path.replace(COPIED, '')
  if (isDated(settings)) return `${prefix}/openai`
  // A proxy at that address may have paths like OpenAI's.
  return VERSIONED.test(prefix) ? prefix : `${prefix}/openai/v1`
}

/** The name of the deployment. */
export function deploymentOf({
  deployment,
  model,
}: Pick<AddressSettings, 'deployment'> & { readonly model: string }): string {
  return deployment ?? model
}

/** `path`: OpenAI's path of the operation. */
export function pathOf(
  settings: AddressSettings & { readonly model: string },
  path: string,
): string {
  const { apiVersion } = settings
  const query = apiVersion === undefined ? '' : `?api-version=${encodeURIComponent(apiVersion)}`
  // The body names the deployment, in both forms.
  if (path.startsWith(RESPONSES)) return path + query
  const deployment = encodeURIComponent(deploymentOf(settings))
  return isDated(settings) ? `/deployments/${deployment}${path}${query}` : path + query
}
