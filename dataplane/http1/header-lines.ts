/** Header lines of requests and answers: split from the text of a head, and looked up by name. */

const LINE_END = '\r\n'
const SPACE = 0x20
const TAB = 0x09

/** The grammar of a header (RFC 9110, 5): no value can end its line. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
export const HEADER_VALUE = /^[\t -~\x80-\xff]*$/
/** A header section: no folded line, no bare CR or LF, no space before a colon, no control character. */
export const HEADER_LINES = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*\r\n)*$/

/** Node's HTTP reader uses the first value of these repeated headers, and joins all others. */
const FIRST_COUNTS: ReadonlySet<string> = new Set(
  (
    'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since ' +
    'last-modified location max-forwards proxy-authorization referer retry-after server user-agent'
  ).split(' '),
)

/** Names and values of well-formed lines, alternating and unchanged. */
export function headersOf(lines: string): string[] {
  const headers: string[] = []
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(':', at)
    const end = lines.indexOf(LINE_END, colon)
    headers.push(lines.slice(at, colon), trimmed(lines, colon + 1, end))
    at = end + LINE_END.length
  }
  return headers
}

/** The value of a header by its lower-case name, with repeated ones treated as Node's HTTP reader treats them. */
export function headerIn(headers: readonly string[], name: string): string | undefined {
  let found: string | undefined
  for (let index = 0; index < headers.length; index += 2) {
    const one = headers[index] ?? ''
    if (one.length !== name.length || one.toLowerCase() !== name) continue
    const value = headers[index + 1] ?? ''
    if (found === undefined) found = value
    else if (FIRST_COUNTS.has(name)) return found
    else found += (name === 'cookie' ? '; ' : ', ') + value
  }
  return found
}

/** The text between two positions, without blanks at its ends. */
export function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}
