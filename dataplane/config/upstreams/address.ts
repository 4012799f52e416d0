/** The parts of an upstream's address. */
import type { AddressSettings, ProviderFacts } from '../../wire/provider-facts.ts'

/** A fact about addresses may depend on the settings. */
export function resolved(
  fact: string | ((settings: AddressSettings) => string) | undefined,
  settings: AddressSettings,
): string | undefined {
  return typeof fact === 'function' ? fact(settings) : fact
}

/** Hosted services whose paths have no version: Databricks, GitHub Models and Perplexity. */
const HOSTS_WITHOUT_VERSION = [
  /(^|\.)(databricks\.com|azuredatabricks\.net|databricks\.app)$/,
  /^models\.(github\.ai|inference\.ai\.azure\.com)$/,
  /^api\.perplexity\.ai$/,
]

/** Takes an endpoint with or without its API version: `http://host:8000` and `http://host:8000/v1` are the same. */
export function splitEndpoint(
  endpoint: string,
  { basePath, versionPath }: Pick<ProviderFacts, 'basePath' | 'versionPath'>,
  settings: AddressSettings,
): { origin: string; basePath: string } {
  const { origin, hostname, pathname } = new URL(endpoint)
  const path = pathname.replace(/\/+$/, '')
  if (basePath !== undefined) return { origin, basePath: basePath(path, settings) }
  if (HOSTS_WITHOUT_VERSION.some((host) => host.test(hostname))) return { origin, basePath: path }
  const versioned = path.split('/').some((part) => /^v\d+[a-z0-9]*$/.test(part))
  return { origin, basePath: versioned ? path : path + (resolved(versionPath, settings) ?? '/v1') }
}

export function serverOf(origin: string): { readonly address: string; readonly port: number } {
  const { hostname, port, protocol } = new URL(origin)
  const usual = protocol === 'https:' ? 443 : 80
  return { address: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? usual : Number(port) }
}
