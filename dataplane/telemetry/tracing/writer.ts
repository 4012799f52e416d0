/**
 * Writes protobuf messages into one page of bytes. test/bench/micro/spans.ts: two spans of a request 5 us. The length
 * of a message is written in three bytes at its end, which every reader of protobuf accepts.
 */

const LENGTH_BYTES = 3
const TWO_32 = 4_294_967_296
const utf8 = new TextEncoder()

/** The kinds of value on the wire. */
const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** A field whose number is below 16: its tag is one byte. */
const bytesTag = (field: number) => (field << 3) | BYTES

/** Members of `KeyValue` and `AnyValue`. */
const KEY = bytesTag(1)
const VALUE = bytesTag(2)
const STRING = bytesTag(1)
const BOOL = (2 << 3) | VARINT
const INT = (3 << 3) | VARINT
const DOUBLE = (4 << 3) | FIXED64
const ARRAY = 5
/** The one member of `ArrayValue`. */
const VALUES = 1

/** The name of an attribute in its encoded form; there are a few dozen, each made once. */
export type Key = Uint8Array

export function keyOf(name: string): Key {
  return Uint8Array.of(KEY, name.length, ...utf8.encode(name))
}

/** Longer values are cut, so that the bytes of a request are bounded. */
const TEXT_MAX = 512

/** A number is a whole one from 0 on; a decimal stays one even if it is whole. */
export type AttributeValue =
  | string
  | number
  | boolean
  | { readonly decimal: number }
  | readonly string[]

export class Writer {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly #view: DataView
  used = 0

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
    this.#view = new DataView(this.bytes.buffer)
  }

  /** Begins a message in a field below 16. Returns the position for its length. */
  open(field: number): number {
    this.bytes[this.used] = bytesTag(field)
    this.used += 1 + LENGTH_BYTES
    return this.used
  }

  close(start: number): void {
    this.#length(start - LENGTH_BYTES, this.used - start)
  }

  text(field: number, value: string): void {
    this.#text(bytesTag(field), value)
  }

  /** Bytes given as lower-case hex. */
  hex(field: number, value: string): void {
    const { bytes } = this
    const length = value.length >> 1
    bytes[this.used++] = bytesTag(field)
    bytes[this.used++] = length
    for (let at = 0; at < value.length; at += 2)
      bytes[this.used++] = (digit(value, at) << 4) | digit(value, at + 1)
  }

  varint(field: number, value: number): void {
    this.bytes[this.used++] = (field << 3) | VARINT
    this.#varint(value)
  }

  /** A whole number from 0 on. */
  fixed64(field: number, value: number): void {
    this.bytes[this.used++] = (field << 3) | FIXED64
    this.#fixed64(value)
  }

  double(field: number, value: number): void {
    this.bytes[this.used++] = (field << 3) | FIXED64
    this.#double(value)
  }

  /** Whole numbers from 0 on, in one field. */
  packedFixed64(field: number, values: Iterable<number>): void {
    const start = this.open(field)
    for (const value of values) this.#fixed64(value)
    this.close(start)
  }

  packedDoubles(field: number, values: Iterable<number>): void {
    const start = this.open(field)
    for (const value of values) this.#double(value)
    this.close(start)
  }

  /** A time as nanoseconds, from milliseconds since the epoch; exact to a quarter of a microsecond. */
  time(field: number, wallMs: number): void {
    this.bytes[this.used++] = (field << 3) | FIXED64
    this.#fixed64(wallMs * 1e6)
  }

  fixed32(field: number, value: number): void {
    const tag = (field << 3) | FIXED32
    // From 16 on a tag has two bytes.
    if (tag > 127) this.bytes[this.used++] = (tag & 0x7f) | 0x80
    this.bytes[this.used++] = tag > 127 ? tag >> 7 : tag
    this.#view.setUint32(this.used, value, true)
    this.used += 4
  }

  /** A `KeyValue`. A field without a value is not written. */
  attribute(field: number, key: Key, value: AttributeValue | undefined): void {
    if (value === undefined) return
    const { bytes } = this
    const whole = this.open(field)
    bytes.set(key, this.used)
    this.used += key.length
    bytes[this.used] = VALUE
    this.used += 1 + LENGTH_BYTES
    const start = this.used
    this.#value(value)
    this.close(start)
    this.close(whole)
  }

  #value(value: AttributeValue): void {
    if (typeof value === 'string') this.#text(STRING, value)
    else if (typeof value === 'number') {
      this.bytes[this.used++] = INT
      this.#varint(value)
    } else if (typeof value === 'boolean') {
      this.bytes[this.used++] = BOOL
      this.bytes[this.used++] = value ? 1 : 0
    } else if ('decimal' in value) {
      this.bytes[this.used++] = DOUBLE
      this.#double(value.decimal)
    } else this.#list(value)
  }

  #list(texts: readonly string[]): void {
    const list = this.open(ARRAY)
    for (const text of texts) {
      const one = this.open(VALUES)
      this.#text(STRING, text)
      this.close(one)
    }
    this.close(list)
  }

  #fixed64(value: number): void {
    const high = Math.floor(value / TWO_32)
    this.#view.setUint32(this.used, value - high * TWO_32, true)
    this.#view.setUint32(this.used + 4, high, true)
    this.used += 8
  }

  #double(value: number): void {
    this.#view.setFloat64(this.used, value, true)
    this.used += 8
  }

  #varint(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.bytes[this.used++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    this.bytes[this.used++] = rest
  }

  #text(tag: number, value: string): void {
    const { bytes } = this
    const text = value.length > TEXT_MAX ? value.slice(0, TEXT_MAX) : value
    bytes[this.used] = tag
    this.used += 1 + LENGTH_BYTES
    const start = this.used
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code > 127) {
        this.used = start + utf8.encodeInto(text, bytes.subarray(start)).written
        break
      }
      bytes[this.used++] = code
    }
    this.close(start)
  }

  #length(at: number, length: number): void {
    this.bytes[at] = (length & 0x7f) | 0x80
    this.bytes[at + 1] = ((length >> 7) & 0x7f) | 0x80
    this.bytes[at + 2] = length >> 14
  }
}

/** A digit of lower-case hex. */
function digit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code > 57 ? code - 87 : code - 48
}
