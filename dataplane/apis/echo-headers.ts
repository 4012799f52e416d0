/** GET /v1/debug/echo-headers: what arrived, to see whether an intermediary stripped or rewrote it. */
import { describeLimits } from '../limits/tenants.ts'
import { authenticate } from '../stages/authenticate.ts'
import type { Api } from './contract.ts'

const CREDENTIALS = new Set([
  'authorization',
  'proxy-authorization',
  'api-key',
  'x-api-key',
  'cookie',
])
const SHOWN_LENGTH = 12

export const echoHeaders: Api = {
  method: 'GET',
  path: '/v1/debug/echo-headers',
  summary: 'The request headers as received; credentials masked to length and prefix.',
  async run(visit) {
    authenticate(visit)
    await describeLimits(visit)
    const headers = new Map<string, string>()
    const { rawHeaders } = visit.call.incoming
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] ?? '').toLowerCase()
      const value = mask(name, rawHeaders[index + 1] ?? '')
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

function mask(name: string, value: string): string {
  if (!CREDENTIALS.has(name)) return value
  return `${value.slice(0, SHOWN_LENGTH)}… (${value.length} characters)`
}
