/** Reads requests from the bytes of a connection: lists of texts, as every client of Redis sends them. */

/** Arguments and bytes of one request; the largest of the gateway have some thousand and 100 KiB. */
export const ARGUMENTS_MAX = 16_384
export const REQUEST_BYTES_MAX = 16 * 1024 * 1024

/** `*16384` or `$16777216`, and the end of the line. */
const LINE_BYTES_MAX = 12

const CR = 13
const LF = 10
const LIST = 42
const TEXT = 36

/** The connection has to be closed; `message` is for the client. */
export class ProtocolError extends Error {}

export class RequestReader {
  #rest: Buffer = Buffer.alloc(0)
  #chunks: Buffer[] = []
  #waiting = 0
  /** The least number of bytes with which a request can be whole. */
  #needed = 1
  #at = 0

  /** undefined if it is not whole. */
  #request(): Buffer[] | undefined {
    const begun = this.#at
    const count = this.#number(LIST, ARGUMENTS_MAX, 'invalid multibulk length')
    if (count === undefined) return undefined
    const request: Buffer[] = []
    while (request.length < count) {
      const length = this.#number(TEXT, REQUEST_BYTES_MAX, 'invalid bulk length')
      if (length === undefined) return undefined
      const end = this.#at + length
      this.#needed = end + 2 - begun
      if (this.#needed > REQUEST_BYTES_MAX) throw new ProtocolError('too large request')
      if (this.#rest.length < end + 2) return undefined
      if (this.#rest[end] !== CR || this.#rest[end + 1] !== LF)
        throw new ProtocolError('expected the end of a bulk')
      request.push(this.#rest.subarray(this.#at, end))
      this.#at = end + 2
    }
    return request
  }

  /** The number of a line. */
  #number(kind: number, most: number, complaint: string): number | undefined {
    const rest = this.#rest
    if (this.#at >= rest.length) return undefined
    if (rest[this.#at] !== kind)
      throw new ProtocolError(`expected '${String.fromCharCode(kind)}' at the beginning of a line`)
    let value = 0
    for (let at = this.#at + 1; at < this.#at + LINE_BYTES_MAX; at++) {
      const byte = rest[at]
      if (byte === undefined) return undefined
      if (byte === CR) {
        if (at === this.#at + 1 || value > most) throw new ProtocolError(complaint)
        if (rest[at + 1] === undefined) return undefined
        if (rest[at + 1] !== LF) throw new ProtocolError(complaint)
        this.#at = at + 2
        return value
      }
      if (byte < 48 || byte > 57) throw new ProtocolError(complaint)
      value = value * 10 + byte - 48
    }
    throw new ProtocolError(complaint)
  }

  /** The requests that are whole now. Throws a ProtocolError after the last good one. */
  *read(chunk: Buffer): Generator<Buffer[]> {
    this.#chunks.push(chunk)
    this.#waiting += chunk.length
    if (this.#waiting < this.#needed) return
    this.#rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    this.#at = 0
    while (this.#at < this.#rest.length) {
      const begun = this.#at
      const request = this.#request()
      if (request === undefined) {
        this.#at = begun
        break
      }
      if (request.length > 0) yield request
      this.#needed = 1
    }
    // A copy, so that a few bytes do not keep a large chunk.
    this.#rest = Buffer.from(this.#rest.subarray(this.#at))
    this.#chunks = this.#rest.length === 0 ? [] : [this.#rest]
    this.#waiting = this.#rest.length
  }
}
