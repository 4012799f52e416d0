/** Vectors in JSON: lists of numbers, and base64 of little-endian 32-bit floats. */
import { endianness } from 'node:os'

const FLOAT_BYTES = 4
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const isSwapped = endianness() === 'BE'

export function toBase64(vector: ArrayLike<number>): string {
  const floats = vector instanceof Float32Array ? vector : Float32Array.from(vector)
  const bytes = Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength)
  return (isSwapped ? Buffer.from(bytes).swap32() : bytes).toString('base64')
}

/** undefined if it is not base64 of whole floats. */
export function fromBase64(text: string): Float32Array | undefined {
  if (base64Length(text) === undefined || !BASE64.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (isSwapped) bytes.swap32()
  // The bytes may start at an offset that is invalid for floats.
  const { buffer, byteOffset, byteLength } = bytes
  return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength))
}

/** The number of floats in it, without decoding; undefined if it is not whole. */
export function base64Length(text: string): number | undefined {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = Math.floor(((text.length - padding) * 3) / 4)
  return bytes % FLOAT_BYTES === 0 ? bytes / FLOAT_BYTES : undefined
}
