/** Every path that is not an API: the answer lists what the gateway offers, in the dialect of the client. */
import { GatewayError } from '../base/errors.ts'
import { isSpelledAs, pathOf } from '../base/path-spelling.ts'
import { shownPath } from '../base/shown-text.ts'
import type { Api } from '../request/api.ts'
import { identify } from '../request/visit.ts'
import { anthropicMessages } from './anthropic-messages/api.ts'
import { anthropicWire } from './anthropic-messages/wire.ts'
import { APIS } from './index.ts'
import { nearestPath } from './nearest-path.ts'
import { openAiWire } from './openai/wire.ts'
import { wireOfClient } from './wire-of-client.ts'

const PATH_SHOWN_MAX = 100
const OFFERED = APIS.filter(({ method, path }) => method === 'POST' && !path.endsWith('*')).map(
  ({ path }) => path,
)

export const UNKNOWN: Api = {
  method: 'GET',
  path: '*',
  summary: 'Everything that is not an API.',
  wire: openAiWire,
  // The path shows the API more reliably than a header, which some clients do not send.
  wireOf: (incoming) =>
    isBelow(pathOf(incoming.url), anthropicMessages.path) ? anthropicWire : wireOfClient(incoming),
  async run(visit) {
    // A client needs no key for a 404, so a bad key is not refused.
    try {
      await identify(visit)
    } catch {
      // Without a caller the answer is the same.
    }
    const { method, url } = visit.call.incoming
    const path = pathOf(url)
    const shown = shownPath(url).slice(0, PATH_SHOWN_MAX)
    const taken = APIS.find((api) => isSpelledAs(path, api.path))?.method
    const isSocket = visit.call.incoming.header('upgrade')?.toLowerCase() === 'websocket'
    if (isSocket && method === 'GET' && taken === 'POST')
      throw new GatewayError(
        'ERR_GW_UPGRADE_REQUIRED',
        `${shown} is not a WebSocket path; send a POST.`,
        { upgrade: 'HTTP/1.1' },
      )
    if (taken !== undefined) {
      throw new GatewayError(
        'ERR_GW_METHOD_NOT_ALLOWED',
        `${shown} takes ${taken}, not ${method}.`,
        { allow: taken === 'GET' ? 'GET, HEAD, OPTIONS' : `${taken}, OPTIONS` },
      )
    }
    throw new GatewayError('ERR_GW_ROUTE_NOT_FOUND', messageOf(method, shown))
  },
}

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`)
}

function messageOf(method: string, shown: string): string {
  const { method: right, path } = nearestPath(shown)
  const offers = OFFERED.join(', ')
  return (
    `Did you mean ${right} ${path}? ${method} ${shown} is not offered by this gateway; it offers POST ${offers}. ` +
    'The base URL of an SDK is the address of the gateway, with or without /v1.'
  )
}
