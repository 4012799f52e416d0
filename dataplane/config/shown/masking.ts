/** Which values are credentials, and what may be shown of them. */

import type { ReferenceUse } from '../document/references.ts'
import type { Path } from '../judgement/problems.ts'

const MASK = '***'

/** What `config show` prints for the string at `path`. */
export function shownText(value: string, path: Path, use: ReferenceUse | undefined): string {
  const kind = credentialKind(path)
  if (use !== undefined) {
    const isSecret = kind !== undefined || use.kinds.some((origin) => origin !== 'env')
    // A value that looks like a reference would be read as one when the output is loaded.
    return isSecret || value.includes('${') ? use.text : value
  }
  if (value.includes('${')) return value
  if (kind === 'whole') return MASK
  return kind === undefined ? value : maskUrl(value, kind)
}

type CredentialKind = 'whole' | UrlKind
type UrlKind = 'url' | 'webhook'

/** The address of a URL may be shown, but not its path, which authenticates a webhook. */
function credentialKind(path: Path): CredentialKind | undefined {
  const field = path.at(-1)
  const owner = path.at(-2)
  if (field === 'api_key' || field === 'signing_key') return 'whole'
  if (owner === 'further_api_keys') return 'whole'
  if (owner === 'headers' || owner === 'otlp_headers') return 'whole'
  const section = path.at(1)
  if (section === 'gateway' && owner === 'tls' && field === 'key') return 'whole'
  if (field === 'webhook_url') return 'webhook'
  if (field === 'http_proxy' || field === 'otlp_endpoint') return 'url'
  if (section === 'rate_limits' && field === 'url') return 'url'
  return section === 'vector_stores' && field === 'endpoint' ? 'url' : undefined
}

/** Keeps the address of a URL, and masks its credentials. */
function maskUrl(value: string, kind: UrlKind): string {
  const url = URL.parse(value)
  if (url === null) return MASK
  if (kind === 'webhook') return `${url.origin}/${MASK}`
  const isPlain = url.username === '' && url.password === '' && url.search === ''
  if (isPlain) return value
  if (url.username !== '') url.username = MASK
  if (url.password !== '') url.password = MASK
  if (url.search !== '') url.search = MASK
  return url.href
}
