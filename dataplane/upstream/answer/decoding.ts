/** Decodes answers that are compressed although identity was requested, within a bound, or refuses them. */
import type { IncomingHttpHeaders } from 'node:http'
import {
  brotliDecompress,
  type CompressCallback,
  gunzip,
  inflate,
  inflateRaw,
  zstdDecompress,
} from 'node:zlib'

interface Bound {
  readonly maxOutputLength: number
}

type Decoder = (bytes: Buffer, bound: Bound, callback: CompressCallback) => void

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflateEither],
  ['br', brotliDecompress],
  ['zstd', zstdDecompress],
])

export type Encoding = 'identity' | { readonly decode: Decoder }

/** undefined: an unknown encoding, or several nested ones, which only a decompression bomb needs. */
export function encodingOf(headers: IncomingHttpHeaders): Encoding | undefined {
  const header = headers['content-encoding']
  if (header === undefined) return 'identity'
  // A header that was sent twice is a list, regardless of its type.
  const names = String(header)
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  const [name, ...more] = names
  if (name === undefined) return 'identity'
  const decode = DECODERS.get(name)
  return decode === undefined || more.length > 0 ? undefined : { decode }
}

/**
 * Calls back with the decoded body, or with undefined if it cannot be decoded to at most `bytesMax`; at once if there
 * is nothing to decode. The decoding runs outside the event loop and stops at the bound.
 */
export function decodeBody(
  body: Buffer,
  encoding: Encoding | undefined,
  bytesMax: number,
  callback: (decoded: Buffer | undefined) => void,
): void {
  if (encoding === undefined) callback(undefined)
  else if (encoding === 'identity' || body.length === 0) callback(body)
  else {
    encoding.decode(body, { maxOutputLength: bytesMax }, (error, decoded) =>
      callback(error === null ? decoded : undefined),
    )
  }
}

/** Servers disagree on whether `deflate` has the header of zlib; the first byte tells. */
function inflateEither(bytes: Buffer, bound: Bound, callback: CompressCallback): void {
  const decode = ((bytes[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw
  decode(bytes, bound, callback)
}
