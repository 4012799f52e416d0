/** Multipart forms, read so strictly that no other server can read them differently. */

import { atOnce } from './steps.ts'

/** A part of a form; its value is from `start` to `end` in the body. */
export interface FormPart {
  readonly name: string
  /** Without characters that some readers take for its end; absent if the part is not a file. */
  readonly filename?: string
  readonly type?: string
  readonly start: number
  readonly end: number
}

export interface Form {
  readonly boundary: string
  readonly parts: readonly FormPart[]
}

/** The body is not a form that this gateway forwards; the message says why. */
export class FormError extends Error {
  readonly param: string | undefined
  constructor(message: string, param?: string) {
    super(message)
    this.param = param
  }
}

const PARTS_MAX = 64
const HEAD_BYTES_MAX = 4_096
/** Bytes to search between two checks of the clock. */
const PIECE_BYTES = 65_536
const LINE = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const LAST = Buffer.from('--')
const BOUNDARIES = /;\s*boundary\s*=/gi
const BOUNDARY = /;\s*boundary=(?:"([^"]*)"|([^\s;"]*))/i
/** Of RFC 2046, without the space. */
const BOUNDARY_TEXT = /^[0-9A-Za-z'()+_,\-./:=?]{1,70}$/
const HEADER = /^([0-9A-Za-z-]+):[ \t]*([^\0\r\n]*)$/
const PARAMETER = /\s*;\s*([a-z]+\*?)=(?:"((?:[^"\\\r\n]|\\.)*)"|([^\s;"\\]+))/gy
const NAME = /^[\w\-.[\]]{1,128}$/
/** Some readers keep a backslash before a quote in the name, others end the name there. */
const UNCLEAR = /\\"|["\\\p{Cc}]/gu
const TYPE = /^[\x20-\x7e]{1,128}$/
/** Values that only state that the bytes are unencoded. */
const PLAIN_ENCODING = /^(binary|8bit|7bit)$/i

/** Linear in the number of bytes. Yields where other work may run. Throws FormError. */
export function* readForm(bytes: Buffer, contentType: string): Generator<undefined, Form> {
  const boundary = boundaryOf(contentType)
  const delimiter = Buffer.from(`--${boundary}`)
  const separator = Buffer.from(`\r\n--${boundary}`)
  if (!standsAt(bytes, 0, delimiter))
    throw new FormError('The body does not begin with the boundary that its Content-Type names.')
  const parts: FormPart[] = []
  let at = delimiter.length
  while (!standsAt(bytes, at, LAST)) {
    if (!standsAt(bytes, at, LINE)) throw broken()
    if (parts.length === PARTS_MAX)
      throw new FormError(`The form has more than ${PARTS_MAX} parts.`)
    const headEnd = bytes.subarray(at, at + HEAD_BYTES_MAX).indexOf(HEAD_END)
    if (headEnd === -1) throw broken()
    const head = headOf(bytes.toString('utf8', at + LINE.length, at + headEnd))
    const start = at + headEnd + HEAD_END.length
    // Some readers take a line feed alone for the end of a line, some the boundary alone for a delimiter.
    const next = yield* find(bytes, boundary, start)
    const end = next - separator.length + boundary.length
    if (next === -1 || end < start || !standsAt(bytes, end, separator)) throw broken()
    parts.push({ ...head, start, end })
    at = end + separator.length
  }
  const rest = bytes.subarray(at + LAST.length)
  if (rest.length > 0 && !rest.equals(LINE)) throw new FormError('Something follows the form.')
  return { boundary, parts }
}

/** The value of a part that is complete in the beginning of a form; undefined if it is not, or the form is broken. */
export function valueInBeginning(
  bytes: Buffer,
  contentType: string,
  name: string,
): string | undefined {
  try {
    const separator = `\r\n--${boundaryOf(contentType)}`
    const end = bytes.lastIndexOf(separator)
    if (end === -1) return undefined
    // Closes the parts so far, to read them as a form.
    const closed = Buffer.concat([bytes.subarray(0, end), Buffer.from(`${separator}--`)])
    const { parts } = atOnce(readForm(closed, contentType))
    const part = parts.find((one) => one.name === name)
    return part && closed.toString('utf8', part.start, part.end)
  } catch (error) {
    // A bad form is refused when it is complete.
    if (error instanceof FormError) return undefined
    throw error
  }
}

/** Like indexOf, which is slow in a value that repeats parts of the text. */
function* find(bytes: Buffer, text: string, from: number): Generator<undefined, number> {
  for (let at = from; at < bytes.length; at += PIECE_BYTES) {
    const found = bytes.subarray(at, at + PIECE_BYTES + text.length - 1).indexOf(text)
    if (found !== -1) return at + found
    yield
  }
  return -1
}

function boundaryOf(contentType: string): string {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  const boundary = quoted ?? plain ?? ''
  if (contentType.match(BOUNDARIES)?.length !== 1 || !BOUNDARY_TEXT.test(boundary))
    throw new FormError('The Content-Type of a form must name one boundary of 1 to 70 characters.')
  return boundary
}

function standsAt(bytes: Buffer, at: number, text: Buffer): boolean {
  return bytes.subarray(at, at + text.length).equals(text)
}

function headOf(text: string): Pick<FormPart, 'name' | 'filename' | 'type'> {
  const headers = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    const [, name = '', value = ''] = HEADER.exec(line) ?? []
    const key = name.toLowerCase()
    if (key === '' || headers.has(key)) throw broken()
    headers.set(key, value.trim())
  }
  if (!PLAIN_ENCODING.test(headers.get('content-transfer-encoding') ?? 'binary'))
    throw new FormError('A part of the form is encoded; send its bytes as they are.')
  const type = headers.get('content-type')
  if (type !== undefined && !TYPE.test(type)) throw broken()
  const disposition = dispositionOf(headers.get('content-disposition') ?? '')
  return { ...disposition, ...(type !== undefined && { type }) }
}

function dispositionOf(text: string): Pick<FormPart, 'name' | 'filename'> {
  const [kind = ''] = text.split(';', 1)
  if (kind.trim().toLowerCase() !== 'form-data') throw broken()
  const found = new Map<string, string>()
  let end = kind.length
  for (const [whole, key = '', quoted, plain] of text.slice(end).matchAll(PARAMETER)) {
    if (found.has(key)) throw broken()
    found.set(key, quoted ?? plain ?? '')
    end += whole.length
  }
  if (text.slice(end).trim() !== '') throw broken()
  const { name = '', filename, 'filename*': extended, ...others } = Object.fromEntries(found)
  if (!NAME.test(name) || Object.keys(others).length > 0) throw broken()
  const file = filename ?? (extended && extendedName(extended))
  return { name, ...(file !== undefined && { filename: file.replace(UNCLEAR, '_') }) }
}

/** `UTF-8''a%20b`, as RFC 8187 writes what is not ASCII. */
function extendedName(text: string): string {
  const [, encoded] = /^utf-8'[^']*'([!-~]*)$/i.exec(text) ?? []
  try {
    return decodeURIComponent(encoded ?? '%')
  } catch {
    throw broken()
  }
}

function broken(): FormError {
  return new FormError('Two servers could read this form differently.')
}
