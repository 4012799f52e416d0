/** GET /v1/debug/echo-headers: what arrived, to see whether an intermediary stripped or rewrote it. */

import { maskKeys } from '../../base/shown-text.ts'
import { describeLimits, identify } from '../../visit.ts'
import type { Api } from '../contract.ts'
import { openAiWire } from '../openai/wire.ts'

/** Headers whose values are no credentials. Identity proxies put tokens into headers of any name, so all others are masked. */
const HARMLESS: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'date',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'max-forwards',
  'origin',
  'pragma',
  'priority',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'te',
  'traceparent',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
  'x-envoy-attempt-count',
  'x-envoy-expected-rq-timeout-ms',
  'x-envoy-external-address',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-real-ip',
  'x-request-id',
  'x-scheme',
  'x-stainless-arch',
  'x-stainless-async',
  'x-stainless-lang',
  'x-stainless-os',
  'x-stainless-package-version',
  'x-stainless-retry-count',
  'x-stainless-runtime',
  'x-stainless-runtime-version',
  'x-stainless-timeout',
])
/** Of Authorization: "Bearer " and the first characters of the key. */
const CREDENTIAL_SHOWN = 12
const OTHER_SHOWN = 4
/** No more than this part of a value is shown. */
const SHOWN_PART = 4

export const echoHeaders: Api = {
  method: 'GET',
  path: '/v1/debug/echo-headers',
  summary:
    'The request headers as received; values of harmless headers, length and first characters of all others.',
  wire: openAiWire,
  async run(visit) {
    await identify(visit)
    await describeLimits(visit)
    const headers = new Map<string, string>()
    const { rawHeaders } = visit.call.incoming
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] ?? '').toLowerCase()
      const value = shownValue(name, rawHeaders[index + 1] ?? '')
      const earlier = headers.get(name)
      // One that was sent twice shows both: intermediaries add rather than replace.
      headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`)
    }
    visit.response.send(
      200,
      'application/json',
      JSON.stringify({ headers: Object.fromEntries(headers) }),
    )
  },
}

function shownValue(name: string, value: string): string {
  if (HARMLESS.has(name)) return maskKeys(value)
  const most = Math.floor(value.length / SHOWN_PART)
  const length = name === 'authorization' ? Math.min(CREDENTIAL_SHOWN, most) : prefixLength(most)
  return `${value.slice(0, length)}… (${value.length} characters)`
}

/** None of a short value: four characters of a password would be half of it. */
function prefixLength(most: number): number {
  return most < OTHER_SHOWN ? 0 : OTHER_SHOWN
}
