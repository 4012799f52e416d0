/** Credentials are references, never literals: the file is copied, mailed and committed. */

import { isRecord, listBelow, valueBelow } from '../../../json/values.ts'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { UpstreamSection } from '../../../schema/index.ts'
import { refuseForeign } from '../../document/foreign-references.ts'
import { EMPTIED_FIX, isReference, splitReferences } from '../../document/reference-syntax.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { settingsOf } from '../../upstreams/settings.ts'
import { at, type Check } from '../contract.ts'
import { hasControls } from './egress.ts'

export const CREDENTIAL_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  ...Object.values(PROVIDER_FACTS).flatMap(({ credentialHeader = [] }) => credentialHeader),
])

/** Lists whose entries may have `api_key`. */
const OWNERS = ['upstreams', 'vector_stores'] as const

const apiKeysAreReferences: Check = (_section, { written }) =>
  OWNERS.flatMap((owner) =>
    listBelow(written, 'gw', owner).flatMap((entry, index): Finding[] => {
      const path = at(owner, index, 'api_key')
      const key = isRecord(entry) ? entry.api_key : undefined
      const further = listBelow(entry, 'further_api_keys').flatMap((one, place) =>
        isLiteral(one) ? [literal(at(owner, index, 'further_api_keys', place))] : [],
      )
      return isLiteral(key) ? [literal(path), ...further] : further
    }),
  )

/** The same key twice would get two turns, and rest in only one of them. */
const furtherKeysAreOthers: Check = ({ upstreams }, { written }) =>
  upstreams.flatMap((upstream, index) => {
    const { provider, api_key, further_api_keys: further } = upstream
    if (further === undefined) return []
    const path = at('upstreams', index, 'further_api_keys')
    if (api_key === undefined) {
      const message = 'cannot take effect without api_key'
      return [refuse(path, message, 'Move the first one to api_key, or write api_key as a list.')]
    }
    const entry = listBelow(written, 'gw', 'upstreams')[index]
    const texts = [valueBelow(entry, 'api_key'), ...listBelow(entry, 'further_api_keys')]
    return texts.flatMap((text, place): Finding[] => {
      const field = place === 0 ? at('upstreams', index, 'api_key') : [...path, place - 1]
      if (texts.indexOf(text) < place)
        return [refuse(field, 'names a key that is in the list already', 'Remove it.')]
      const value = [api_key, ...further][place] ?? ''
      if (value.includes('${') || !isFetchedFor({ ...upstream, api_key: value })) return []
      const message = `is no key that requests carry unchanged, and ${provider} takes only such keys in a list`
      return [refuse(field, message, 'Write one upstream for each, and a route over them.')]
    })
  })

/** Whether the provider fetches another credential with it, or signs with it. */
function isFetchedFor(upstream: UpstreamSection): boolean {
  const settings = settingsOf(upstream, undefined)
  return settings.provider.openCredentials?.(settings, {}) !== undefined
}

/** References that are malformed, or in the form of another program, are reported as such. */
function isLiteral(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || isReference(value)) return false
  const isMalformed = splitReferences(value).some((piece) => 'malformed' in piece)
  return !isMalformed && refuseForeign(value, []).length === 0
}

const signingKeysAreReferences: Check = (_section, { written }) => {
  const path = at('usage', 'sinks', 'webhook', 'signing_key')
  const key = valueBelow(written, ...path)
  return isLiteral(key) ? [literal(path)] : []
}

const credentialHeadersAreReferences: Check = (_section, { written }) =>
  headerPaths(written).flatMap((path) => {
    const headers = valueBelow(written, ...path)
    return Object.entries(isRecord(headers) ? headers : {}).flatMap(([name, value]) =>
      CREDENTIAL_HEADERS.has(name.toLowerCase()) &&
      typeof value === 'string' &&
      !value.includes('${') &&
      refuseForeign(value, []).length === 0
        ? [isEmptied(value) ? emptied([...path, name]) : literal([...path, name])]
        : [],
    )
  })

/** An empty credential would be sent, and the upstream may only report a missing one. */
const headersHaveValues: Check = (_section, { written }) =>
  headerPaths(written).flatMap((path) => {
    const headers = valueBelow(written, ...path)
    return Object.entries(isRecord(headers) ? headers : {}).flatMap(([name, value]) =>
      value === '' && !CREDENTIAL_HEADERS.has(name.toLowerCase())
        ? [warn([...path, name], 'is empty', EMPTIED_FIX)]
        : [],
    )
  })

/** URLs of services that may contain a password. */
const URLS: readonly Path[] = [
  at('rate_limits', 'redis', 'url'),
  at('http_proxy'),
  at('alerts', 'webhook_url'),
  at('telemetry', 'otlp_endpoint'),
  at('usage', 'sinks', 'webhook', 'webhook_url'),
  at('usage', 'sinks', 'otlp', 'otlp_endpoint'),
]

/** Passwords in URLs work, so this is a warning for experiments; the operator refuses them. */
const passwordsAreReferences: Check = (_section, { written }) =>
  literalPasswords(written).map((path) => warn(path, PASSWORD_MESSAGE, PASSWORD_FIX))

export const PASSWORD_MESSAGE = 'holds a password, which anyone with access to this can read'
export const PASSWORD_FIX =
  'Write the whole URL as ${env:NAME}, ${secret:NAME/KEY} or ${file:PATH}, and replace the exposed password.'

/** URLs with a literal password in a document whose references are unresolved. */
export function literalPasswords(written: unknown): readonly Path[] {
  const stores = listBelow(written, 'gw', 'vector_stores')
  const endpoints = stores.map((_, index) => at('vector_stores', index, 'endpoint'))
  return [...URLS, ...endpoints].filter((path) => {
    const url = valueBelow(written, ...path)
    return typeof url === 'string' && holdsPassword(url)
  })
}

/** The password may follow the user in the URL, or be the password of the sentinels. */
function holdsPassword(url: string): boolean {
  const literal = splitReferences(url)
    .map((piece) => ('literal' in piece ? piece.literal : ''))
    .join('')
  return (
    /^[a-z+-]+:\/\/[^/?#]*:[^/?#]+@/i.test(literal) || /[?&]sentinel_password=[^&]/.test(literal)
  )
}

const apiKeysAreOneLine: Check = ({ upstreams }) =>
  upstreams.flatMap((upstream, index) => {
    const { api_key, further_api_keys: further = [] } = upstream
    const isOdd = api_key !== undefined && hasControls(api_key) && !isKeyDocument(upstream)
    return [
      ...(isOdd ? [oddKey(at('upstreams', index, 'api_key'))] : []),
      ...further.flatMap((key, place) =>
        hasControls(key) ? [oddKey(at('upstreams', index, 'further_api_keys', place))] : [],
      ),
    ]
  })

function oddKey(path: Path): Finding {
  const message = 'the value of the reference contains a line break or control character'
  return refuse(path, message, 'Store the credential alone, on one line.')
}

/** A private key is never sent, so it may have several lines. */
function isKeyDocument(upstream: UpstreamSection): boolean {
  const { takesKeyDocument, keyless } = PROVIDER_FACTS[upstream.provider]
  if (takesKeyDocument !== true || !upstream.api_key?.trim().startsWith('{')) return false
  return keyless?.every((setting) => upstream[setting] !== undefined) === true
}

export const credentialChecks = [
  apiKeysAreReferences,
  signingKeysAreReferences,
  credentialHeadersAreReferences,
  headersHaveValues,
  passwordsAreReferences,
  apiKeysAreOneLine,
  furtherKeysAreOthers,
]

function headerPaths(written: unknown): Path[] {
  return [
    ...listBelow(written, 'gw', 'upstreams').map((_, index) => at('upstreams', index, 'headers')),
    ...listBelow(written, 'gw', 'guardrails').map((_, index) => at('guardrails', index, 'headers')),
    at('alerts', 'headers'),
    at('telemetry', 'otlp_headers'),
    at('usage', 'sinks', 'webhook', 'headers'),
    at('usage', 'sinks', 'otlp', 'otlp_headers'),
  ]
}

/** Empty, or only the scheme: the rest of `Bearer ${env:KEY}` if KEY is empty. */
function isEmptied(value: string): boolean {
  return /^([A-Za-z]+ +)?$/.test(value)
}

function emptied(path: Path): Finding {
  return refuse(path, 'holds no credential', EMPTIED_FIX)
}

function literal(path: Path): Finding {
  return refuse(
    path,
    'a credential must be a reference, never a literal',
    'Write ${env:NAME}, ${secret:NAME/KEY} or ${file:PATH}, and replace the exposed credential.',
  )
}
