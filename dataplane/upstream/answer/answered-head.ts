/**
 * The useful headers of an upstream's answer: its id of the request, its limits, and the id of the answered request.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { maskKeys } from '../../base/shown-text.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import type { PoolRequest } from '../../connection/http1/contract.ts'
import { visibleId } from '../../telemetry/correlation.ts'
import type { ModelRequest } from '../../wire/inner-form.ts'
import type { ProviderFacts } from '../../wire/provider-facts.ts'
import { repeatsSecret, type Sent } from '../attempt/masking.ts'
import { type Encoding, encodingOf } from './decoding.ts'

/** Names of the header in runtimes and hosted APIs, the most common first. */
const REQUEST_IDS = [
  'x-request-id',
  'request-id',
  'x-ms-request-id',
  'apim-request-id',
  'x-amzn-requestid',
]

/** Many runtimes return the received id. */
const NAMES = ['x-request-id', 'x-client-request-id'] as const
const NUMBER = /^[0-9a-z]{1,12}$/

/** The upstream's id of the request; undefined if it cannot be shown, or repeats a secret that was sent. */
export function answeredId(
  headers: IncomingHttpHeaders,
  sent: Sent & { readonly provider: Pick<ProviderFacts, 'requestIdHeader'> },
): string | undefined {
  const own = sent.provider.requestIdHeader
  const names = own === undefined ? REQUEST_IDS : [own, ...REQUEST_IDS]
  for (const name of names) {
    const id = visibleId(headers[name])
    if (id !== undefined) return repeatsSecret(id, sent) ? undefined : id
  }
  return undefined
}

const LIMITS_MAX = 24
const LIMIT = /^[ -~]{1,64}$/

/** The upstream's limits, by header name; undefined if there are none. Only operators of the gateway see them. */
export function answeredLimits(
  headers: IncomingHttpHeaders,
  sent: Sent,
): Readonly<Record<string, string>> | undefined {
  let limits: Record<string, string> | undefined
  let count = 0
  for (const name in headers) {
    if (!name.includes('ratelimit') && !name.startsWith('retry-after')) continue
    const value = headers[name]
    if (typeof value !== 'string' || !LIMIT.test(value) || repeatsSecret(value, sent)) continue
    if (maskKeys(value) !== value || ++count > LIMITS_MAX) continue
    limits ??= {}
    limits[name] = value
  }
  return limits
}

/**
 * Whether an answer has the id of another request of this process. Foreign ids do not count: hosted APIs return their
 * own, as does a gateway behind this one, and a client may send any id.
 */
export function answersAnother(
  headers: IncomingHttpHeaders,
  { requestId, ownHeaders = [] }: Pick<PoolRequest, 'requestId' | 'ownHeaders'>,
): boolean {
  const tag = requestId.slice(0, requestId.lastIndexOf('-') + 1)
  if (tag === '') return false
  return NAMES.some((name) => {
    const id = headers[name]
    if (typeof id !== 'string' || id === requestId || !id.startsWith(tag)) return false
    return NUMBER.test(id.slice(tag.length)) && !ownHeaders.includes(id)
  })
}

/**
 * How to read the body: as a stream, or whole without its encoding; undefined: it is compressed although the request
 * forbids it.
 */
export function formOf(
  headers: IncomingHttpHeaders,
  { stream }: Pick<ModelRequest, 'stream'>,
  { provider }: UpstreamSettings,
): 'stream' | Encoding | undefined {
  const encoding = encodingOf(headers)
  if (!stream || !isStream(headers, provider.framing)) return encoding
  return encoding === 'identity' ? 'stream' : undefined
}

/** An answer without a type may be a stream. */
function isStream(headers: IncomingHttpHeaders, { mediaType }: { mediaType: string }): boolean {
  const type = headers['content-type']
  return type === undefined || type.split(';', 1)[0]?.trim().toLowerCase() === mediaType
}
