/** Reads the head of an answer, and how the body after it is framed. Refuses a head that could be read in two ways. */
import type { IncomingHttpHeaders } from 'node:http'
import { HEADER_LINES, trimmed } from '../../http1/header-lines.ts'
import { KnownNames, wholeNumber } from '../../http1/known-names.ts'
import { malformed, WireError } from './wire-error.ts'

/** `length` bytes, chunks, or everything until the connection ends. */
export type Framing = 'length' | 'chunked' | 'close'

export interface AnswerHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly framing: Framing
  readonly length: number
  /** Whether the connection may carry another request. */
  readonly keepAlive: boolean
  /** The upstream's keep-alive time for idle connections, in milliseconds. */
  readonly keepAliveMs: number | undefined
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-9][0-9]{2}(?: [\t -~\x80-\xff]*)?$/
const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i
const KEEP_ALIVE = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i
const KEEP_ALIVE_TIMEOUT = /timeout=(\d{1,9})/

/** Most headers of most answers. */
const COMMON = new KnownNames([
  ...['age', 'cache-control', 'connection', 'content-encoding', 'content-length', 'content-type'],
  ...['date', 'keep-alive', 'retry-after', 'server', 'set-cookie', 'transfer-encoding', 'vary'],
  ...['via', 'x-request-id', 'openai-organization', 'openai-processing-ms', 'openai-version'],
])

/** `text`: everything before the empty line. */
export function parseAnswerHead(text: string): AnswerHead {
  const lineEnd = text.indexOf('\r\n')
  const lines = text.slice(lineEnd + 2)
  if (!STATUS_LINE.test(text.slice(0, lineEnd))) throw malformed('It has no valid status line.')
  if (!HEADER_LINES.test(lines)) throw malformed('Its header lines are malformed.')
  const status = wholeNumber(text.slice(9, 12)) ?? 0
  const headers = parseHeaders(lines)
  const isFirstMinor = text.charCodeAt(7) === 0x31
  // The gateway requests no upgrade. An answer of 100, which it does not request either, is ignored.
  if (status === 101) throw new WireError('UND_ERR_SOCKET', 'bad upgrade')
  return framed(status, headers, isFirstMinor)
}

function framed(status: number, headers: IncomingHttpHeaders, isFirstMinor: boolean): AnswerHead {
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  const { connection } = headers
  const bodiless = status < 200 || status === 204 || status === 304
  const head = { status, headers, keepAliveMs: keepAliveMs(headers['keep-alive']) }
  const asked = Array.isArray(connection) ? connection.join() : connection
  const persists =
    asked === undefined
      ? isFirstMinor
      : !CLOSE.test(asked) && (isFirstMinor || KEEP_ALIVE.test(asked))
  const bytes = checkFraming(coding, length, isFirstMinor)
  if (bodiless) {
    // An announced body may still arrive, and would be read as the next answer.
    const keepAlive = persists && coding === undefined && bytes === 0
    return { ...head, framing: 'length', length: 0, keepAlive: status < 200 || keepAlive }
  }
  if (coding !== undefined) return { ...head, framing: 'chunked', length: 0, keepAlive: persists }
  if (length === undefined) return { ...head, framing: 'close', length: 0, keepAlive: false }
  return { ...head, framing: 'length', length: bytes, keepAlive: persists }
}

/** The announced length; 0 without one. */
function checkFraming(
  coding: string | string[] | undefined,
  length: string | string[] | undefined,
  isFirstMinor: boolean,
): number {
  if (coding !== undefined) {
    if (length !== undefined) throw malformed('It has Content-Length and Transfer-Encoding.')
    if (!isFirstMinor) throw malformed('HTTP/1.0 has no Transfer-Encoding.')
    if (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked')
      throw malformed('The only supported Transfer-Encoding is "chunked".')
  }
  if (length === undefined) return 0
  // A repeated header is an array; a list in one line is not a number.
  const bytes = typeof length === 'string' ? wholeNumber(length) : undefined
  if (bytes === undefined) throw malformed('Its Content-Length is not one number.')
  return bytes
}

/** Names in lower case; a repeated header is a list. */
function parseHeaders(lines: string): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = {}
  let at = 0
  while (at < lines.length) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf('\r\n', colon)
    const name = COMMON.at(lines, at, colon) ?? lines.slice(at, colon).toLowerCase()
    const value = trimmed(lines, colon + 1, end)
    at = end + 2
    // Setting this name would change the prototype.
    if (name === '__proto__') continue
    const earlier = headers[name]
    if (earlier === undefined || !Object.hasOwn(headers, name)) headers[name] = value
    else if (typeof earlier === 'string') headers[name] = [earlier, value]
    else earlier.push(value)
  }
  return headers
}

function keepAliveMs(hint: string | string[] | undefined): number | undefined {
  if (typeof hint !== 'string') return undefined
  const seconds = KEEP_ALIVE_TIMEOUT.exec(hint)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}
