/** Reads the head of an answer, and how the body after it is framed. Refuses a head that could be read in two ways. */
import type { IncomingHttpHeaders } from 'node:http'
import { HEADER_LINES, trimmed } from '../../http1/header-lines.ts'
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
const LENGTH = /^[0-9]{1,15}$/
const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i
const KEEP_ALIVE = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i
const KEEP_ALIVE_TIMEOUT = /timeout=(\d{1,9})/

/** `text`: everything before the empty line. */
export function parseAnswerHead(text: string): AnswerHead {
  const lineEnd = text.indexOf('\r\n')
  const lines = text.slice(lineEnd + 2)
  if (!STATUS_LINE.test(text.slice(0, lineEnd))) throw malformed('It has no valid status line.')
  if (!HEADER_LINES.test(lines)) throw malformed('Its header lines are malformed.')
  const status = Number(text.slice(9, 12))
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
  checkFraming(coding, length, isFirstMinor)
  if (bodiless) {
    // An announced body may still arrive, and would be read as the next answer.
    const keepAlive = persists && coding === undefined && Number(length ?? 0) === 0
    return { ...head, framing: 'length', length: 0, keepAlive: status < 200 || keepAlive }
  }
  if (coding !== undefined) return { ...head, framing: 'chunked', length: 0, keepAlive: persists }
  if (length === undefined) return { ...head, framing: 'close', length: 0, keepAlive: false }
  return { ...head, framing: 'length', length: Number(length), keepAlive: persists }
}

function checkFraming(
  coding: string | string[] | undefined,
  length: string | string[] | undefined,
  isFirstMinor: boolean,
): void {
  if (coding !== undefined) {
    if (length !== undefined) throw malformed('It has Content-Length and Transfer-Encoding.')
    if (!isFirstMinor) throw malformed('HTTP/1.0 has no Transfer-Encoding.')
    if (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked')
      throw malformed('The only supported Transfer-Encoding is "chunked".')
  }
  // A repeated header is an array; a list in one line is not a number.
  if (length !== undefined && (typeof length !== 'string' || !LENGTH.test(length)))
    throw malformed('Its Content-Length is not one number.')
}

/** Names in lower case; a repeated header is a list. */
function parseHeaders(lines: string): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = {}
  let at = 0
  while (at < lines.length) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf('\r\n', colon)
    const name = lines.slice(at, colon).toLowerCase()
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
