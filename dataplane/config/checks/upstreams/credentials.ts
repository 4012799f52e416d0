/** Credentials are references, never literals: the file is copied, mailed and committed. */

import { isRecord, listBelow, valueBelow } from '../../../json/values.ts'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { UpstreamSection } from '../../../schema/index.ts'
import { refuseForeign } from '../../document/foreign-references.ts'
import { EMPTIED_FIX, isReference, splitReferences } from '../../document/reference-syntax.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
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
      return isLiteral(key) ? [literal(path)] : []
    }),
  )

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
  upstreams.flatMap((upstream, index) =>
    upstream.api_key !== undefined && hasControls(upstream.api_key) && !isKeyDocument(upstream)
      ? [
          refuse(
            at('upstreams', index, 'api_key'),
            'the value of the reference contains a line break or control character',
            'Store the credential alone, on one line.',
          ),
        ]
      : [],
  )

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
