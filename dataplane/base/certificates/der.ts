/** Writes ASN.1 in DER: the few forms that a certificate needs. Node reads it. */

const CONTEXT = 0x80
const CONSTRUCTED = 0x20

/** One value: its tag, its length, its contents. */
function element(tag: number, contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body.length)]), body])
}

/** Short below 128, else the number of bytes and then the bytes. */
function lengthOf(length: number): number[] {
  if (length < 128) return [length]
  const bytes = bytesOf(length)
  return [CONTEXT | bytes.length, ...bytes]
}

function bytesOf(number: number): number[] {
  return number < 256 ? [number] : [...bytesOf(Math.floor(number / 256)), number % 256]
}

export function sequence(...contents: readonly Uint8Array[]): Buffer {
  return element(0x30, contents)
}

export function set(...contents: readonly Uint8Array[]): Buffer {
  return element(0x31, contents)
}

/** Encodes a non-negative number, given as its bytes; a set first bit would make it negative. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first === -1 ? Buffer.from([0]) : bytes.subarray(first)
  return element(0x02, (digits[0] ?? 0) < 128 ? [digits] : [Buffer.from([0]), digits])
}

export function truth(): Buffer {
  return element(0x01, [Buffer.from([0xff])])
}

/** Encodes an object identifier such as `2.5.29.17`. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return element(0x06, [Buffer.from([40 * first + second, ...rest.flatMap(inSevens)])])
}

/** Seven bits a byte; all but the last have a set first bit. */
function inSevens(number: number): number[] {
  if (number < 128) return [number]
  const before = inSevens(Math.floor(number / 128)).map((byte) => byte | 0x80)
  return [...before, number % 128]
}

export function text(value: string): Buffer {
  return element(0x0c, [Buffer.from(value)])
}

/** Whole seconds; certificates use two digits of the year before 2050. */
export function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/\.\d+|[-:T]/g, '')
  const isShort = Number(digits.slice(0, 4)) < 2050
  return element(isShort ? 0x17 : 0x18, [Buffer.from(isShort ? digits.slice(2) : digits)])
}

/** `unused`: how many of the last bits have no meaning. */
export function bits(bytes: Uint8Array, unused = 0): Buffer {
  return element(0x03, [Buffer.from([unused]), bytes])
}

export function octets(bytes: Uint8Array): Buffer {
  return element(0x04, [bytes])
}

/** A member identified by a number, with the value that it wraps. */
export function tagged(number: number, ...contents: readonly Uint8Array[]): Buffer {
  return element(CONTEXT | CONSTRUCTED | number, contents)
}

/** Encodes a member that has a number instead of a tag. */
export function taggedBytes(number: number, bytes: Uint8Array): Buffer {
  return element(CONTEXT | number, [bytes])
}
