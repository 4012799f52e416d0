/** Rules of HTTP that every request must keep, checked before anything else reads it. */
import { GatewayError } from '../base/errors.ts'
import { MODEL_PREFIX, pathOf } from '../base/path-spelling.ts'
import type { Incoming } from '../call/call.ts'

export const HEADERS_MAX = 100
const LENGTH = /^(0|[1-9][0-9]{0,15})$/
export const HOST = /^[A-Za-z0-9._~:[\]%-]*$/
/** Origin form without control characters, fragment, backslash, an encoded slash or NUL, or a dot segment. */
const TARGET_BAD = /[^!-~]|[#\\]|%00|%2f|%5c|(^|\/)(\.|%2e){2}(\/|\?|$)/i

/** Headers that two readers may understand differently if they appear twice. */
const ONCE = new Set([
  'host',
  'authorization',
  'api-key',
  'x-api-key',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'expect',
])
const ONCE_LENGTHS = new Set([...ONCE].map((name) => name.length))

type Headed = Pick<Incoming, 'url' | 'rawHeaders' | 'header'>

/** The first rule that the request breaks: two readers could read it differently, or the gateway does not support it. */
export function wireFault(incoming: Headed, httpVersion: string): GatewayError | undefined {
  const { rawHeaders, url } = incoming
  if (rawHeaders.length > HEADERS_MAX * 2) {
    return new GatewayError('ERR_GW_HEADERS_TOO_LARGE', `Send at most ${HEADERS_MAX} headers.`)
  }
  const twice = duplicate(rawHeaders)
  if (twice !== undefined) return fault(`The header "${twice}" appears twice; send it once.`)
  if (!isPlainTarget(url)) return fault('The request target is not a plain path.')
  const host = incoming.header('host')
  // Only HTTP/1.0 may omit Host.
  if (host === undefined ? httpVersion !== '1.0' : !HOST.test(host))
    return fault(`The Host header is ${host === undefined ? 'missing' : 'not a host'}.`)
  return framingFault(incoming, httpVersion) ?? askingFault(incoming)
}

function isPlainTarget(url: string): boolean {
  if (!url.startsWith('/')) return false
  if (!TARGET_BAD.test(url)) return true
  // Only the name of a model may hold an encoded slash, and the decoded path must have no dot segment.
  if (!url.startsWith(MODEL_PREFIX)) return false
  const path = pathOf(url)
  return !TARGET_BAD.test(path.replaceAll(/%2f/gi, '/') + url.slice(path.length))
}

/** Whether an announced body has not arrived; the connection cannot serve another request then. */
export function bodyIsUnread(incoming: Pick<Incoming, 'header' | 'complete'>): boolean {
  if (incoming.complete) return false
  if (incoming.header('transfer-encoding') !== undefined) return true
  return Number(incoming.header('content-length') ?? 0) > 0
}

function framingFault(incoming: Headed, httpVersion: string): GatewayError | undefined {
  // Node's parser accepts HTTP/0.9 and HTTP/2.0 on a request line and treats them as 1.1.
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return fault('The gateway speaks HTTP/1.1 only.')
  const coding = incoming.header('transfer-encoding')
  if (coding !== undefined && httpVersion === '1.0')
    return fault('HTTP/1.0 has no Transfer-Encoding.')
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return fault('The only supported Transfer-Encoding is "chunked".')
  }
  const length = incoming.header('content-length')
  if (length !== undefined && !LENGTH.test(length))
    return fault('Content-Length is not a plain number.')
  if (length !== undefined && coding !== undefined)
    return fault('Send Content-Length or Transfer-Encoding, not both.')
  return undefined
}

function askingFault(incoming: Headed): GatewayError | undefined {
  const expected = incoming.header('expect')
  if (expected !== undefined && expected.toLowerCase() !== '100-continue') {
    return fault('The only supported Expect is "100-continue".')
  }
  return undefined
}

/** Compares the length of the name first, because most headers of a request are others. */
function duplicate(rawHeaders: readonly string[]): string | undefined {
  let seen: string[] | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? ''
    if (!ONCE_LENGTHS.has(raw.length)) continue
    const name = raw.toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen?.includes(name)) return name
    seen ??= []
    seen.push(name)
  }
  return undefined
}

function fault(message: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', message)
}
