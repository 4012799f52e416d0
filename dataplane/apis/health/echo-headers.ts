/** GET /v1/debug/echo-headers: the headers as received, to find an intermediary that removed or changed one. */

import { maskKeys } from '../../base/shown-text.ts'
import type { Api } from '../../request/api.ts'
import { describeLimits, identify } from '../../request/visit.ts'
import { openAiWire } from '../openai/wire.ts'

/** Names of headers that contain credentials of clients and of proxies before the gateway. */
const SECRET_NAME = new RegExp(
  [
    '^(?:proxy-)?authorization$|^(?:set-)?cookie$|^x-amz-|^x-goog-iap-|^cf-access-',
    '|(?:api[-_]?key|token|secret|signature|credential|assertion)$',
  ].join(''),
)
/** A JSON web token anywhere, or a scheme with its credential. */
const SECRET_VALUE = /(?<![\w-])eyJ[\w-]*\.[\w-]+\.[\w-]*|^\s*(?:bearer|basic)\s+\S/i
/** The shown part of Authorization: "Bearer " and the first characters of the key. */
const CREDENTIAL_SHOWN = 12
const OTHER_SHOWN = 4
/** The largest shown part of a value. */
const SHOWN_PART = 4

export const echoHeaders: Api = {
  method: 'GET',
  path: '/v1/debug/echo-headers',
  summary: 'The request headers as received; length and first characters of credentials.',
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
      // A repeated header shows all values, because intermediaries add values rather than replace them.
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
  if (!isSecret(name, value)) return value
  const most = Math.floor(value.length / SHOWN_PART)
  const length = name === 'authorization' ? Math.min(CREDENTIAL_SHOWN, most) : prefixLength(most)
  return `${value.slice(0, length)}… (${value.length} characters)`
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || SECRET_VALUE.test(value) || maskKeys(value) !== value
}

/** A short value shows nothing: four characters could be half of a password. */
function prefixLength(most: number): number {
  return most < OTHER_SHOWN ? 0 : OTHER_SHOWN
}
