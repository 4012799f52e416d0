/**
 * Recognises the head of a plain request: one that no two readers could read differently. Node checks everything else.
 */
import { trimmed } from '../../http1/header-lines.ts'
import { KnownNames, wholeNumber } from '../../http1/known-names.ts'
import { HEADERS_MAX, HOST } from '../../request/head-rules.ts'

/** Headers by lower-case name. */
type Kept = Readonly<Record<string, string | undefined>>

/** A request line that is served, with its line end, and whether a body belongs to it. */
export interface PlainLine {
  readonly text: string
  readonly hasBody: boolean
}

export interface PlainHead {
  /** The index of the line. */
  readonly line: number
  /** The headers that `isKept` names. */
  readonly kept: Kept
  /** All headers unchanged. */
  readonly lines: string
  /** Bytes of the body, 0 if it comes in chunks, and where they begin. */
  readonly length: number
  readonly isChunked: boolean
  readonly bodyAt: number
}

const BYTES_MAX = 8192
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = '\r\n'
/** No folded line, no bare CR or LF, no space before a colon, no tab, only visible ASCII. */
const HEADER_LINES = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[ -~]*\r\n)+$/
/** An offer to upgrade is ignored (RFC 9110, 7.8), and so are the options that come with it. */
const KEEPING =
  /^(?:keep-alive|upgrade|http2-settings)(?: *, *(?:keep-alive|upgrade|http2-settings))*$/i

/** Headers that are kept; each may appear only once. */
const NONE: Kept = {
  host: undefined,
  origin: undefined,
  'api-key': undefined,
  'x-api-key': undefined,
  connection: undefined,
  'content-type': undefined,
  authorization: undefined,
  'content-length': undefined,
  'content-encoding': undefined,
  'x-request-id': undefined,
  traceparent: undefined,
  tracestate: undefined,
  'transfer-encoding': undefined,
}
/** Node reads a request with one of these. */
const LEFT = new KnownNames(['expect', 'trailer', 'proxy-connection'])
const KEPT = new KnownNames(Object.keys(NONE))

/** undefined if the bytes do not begin with the whole head of a plain request to one of the lines. */
export function recognise(bytes: Buffer, plain: readonly PlainLine[]): PlainHead | undefined {
  // Most of the body is there too, but is never read as text.
  const end = bytes.indexOf(HEAD_END)
  if (end === -1 || end > BYTES_MAX - HEAD_END.length) return undefined
  const text = bytes.toString('latin1', 0, end + LINE_END.length)
  const line = plain.findIndex((one) => text.startsWith(one.text))
  const asked = plain[line]
  if (asked === undefined || end < asked.text.length) return undefined
  const lines = text.slice(asked.text.length)
  if (!HEADER_LINES.test(lines)) return undefined
  const kept = keptHeaders(lines)
  if (kept === undefined || !isPlain(kept)) return undefined
  const isChunked = kept['transfer-encoding'] !== undefined
  const length = isChunked ? chunkedLength(kept, asked.hasBody) : bodyLength(kept, asked.hasBody)
  if (length === undefined) return undefined
  return { line, kept, lines, length, isChunked, bodyAt: end + HEAD_END.length }
}

/** undefined if a forbidden header is present, one appears twice, or there are too many. */
function keptHeaders(lines: string): Kept | undefined {
  const kept: Record<string, string | undefined> = { ...NONE }
  let count = 0
  for (let at = 0; at < lines.length; count++) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf(LINE_END, colon)
    if (LEFT.at(lines, at, colon) !== undefined) return undefined
    const name = KEPT.at(lines, at, colon)
    if (name !== undefined) {
      if (kept[name] !== undefined) return undefined
      kept[name] = trimmed(lines, colon + 1, end)
    }
    at = end + LINE_END.length
  }
  return count > HEADERS_MAX ? undefined : kept
}

function isPlain({ host, connection }: Kept): boolean {
  if (host === undefined || !HOST.test(host)) return false
  return connection === undefined || KEEPING.test(connection)
}

function bodyLength(kept: Kept, hasBody: boolean): number | undefined {
  const length = kept['content-length']
  if (!hasBody) return length === undefined || length === '0' ? 0 : undefined
  // A zero before other digits is left to Node.
  if (length === undefined || (length.length > 1 && length.startsWith('0'))) return undefined
  return wholeNumber(length)
}

function chunkedLength(kept: Kept, hasBody: boolean): number | undefined {
  const isPlain = hasBody && kept['content-length'] === undefined
  return isPlain && kept['transfer-encoding']?.toLowerCase() === 'chunked' ? 0 : undefined
}

/** Whether a head's `kept` has the header if the request does; each appears there once. */
export function isKept(name: string): boolean {
  return Object.hasOwn(NONE, name)
}
