/** The table of APIs, matched in the same way for both readers of a connection. */

import { APIS } from '../apis/index.ts'
import { UNKNOWN } from '../apis/unknown.ts'
import { isSpelledAs, pathOf } from '../base/path-spelling.ts'
import type { Incoming } from '../call/call.ts'
import type { Api, ApiWithSocket } from '../request/api.ts'
import type { PlainLine } from './http1/plain-head.ts'

/** The API of a plain request line. */
export interface Served extends PlainLine {
  readonly api: Api
}

/** Only a path that names one resource appears in a request line unchanged. */
export const SERVED: readonly Served[] = APIS.filter(({ path }) => !path.endsWith('*')).map(
  servedBy,
)

export function servedBy(api: Api): Served {
  const { method, path } = api
  return { api, text: `${method} ${path} HTTP/1.1\r\n`, hasBody: method === 'POST' }
}

/** The API for WebSockets at this path. */
export function socketAt(path: string): ApiWithSocket | undefined {
  return APIS.filter(hasSocket).find((api) => isSpelledAs(path, api.path))
}

function hasSocket(api: Api): api is ApiWithSocket {
  return api.socket !== undefined
}

/** The API of a request. */
export function apiOf(incoming: Pick<Incoming, 'method' | 'url'>): Api {
  const path = pathOf(incoming.url)
  const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
  const found = APIS.find((api) => api.method === method && isSpelledAs(path, api.path))
  return found ?? UNKNOWN
}
