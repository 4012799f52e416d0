/** Decodes chunked bodies (RFC 9112, 7.1), in both directions and for pieces of any size. */

/** The rules that differ between a server and a client. */
export interface ChunkRules {
  /** A whole line with a size, the digits as its first group. */
  readonly sizeLine: RegExp
  readonly sizeLineMax: number
  /** Bytes of all extensions together. */
  readonly extensionsMax: number
  /** All trailers, in bytes. */
  readonly trailersMax: number
  /** Whether a whole line is a valid trailer. */
  isTrailer(line: string): boolean
  malformed(message: string): Error
  /** There are too many trailers. */
  tooLong(): Error
}

export interface ChunkSink {
  onData(bytes: Buffer): void
  /** Whether no more bytes are wanted, for now or at all. */
  readonly stopped: boolean
  /** Whether the chunks of one read may be passed on together; absent: only the shortest are. */
  readonly joins?: boolean
}

type ChunkState = 'size' | 'data' | 'data end' | 'trailers' | 'complete'

const CR = 0x0d
const LF = 0x0a
const CRLF = '\r\n'
/** Most digits that are read directly; longer ones use the rule for size lines. */
const DIGITS_MAX = 12
/**
 * Pieces of this size, such as an event of a stream, are passed on separately if the sink does not join, so that their
 * content is seen before later bytes. Smaller ones of one read are joined: single bytes in chunks would need a call each.
 */
const OWN_PIECE_BYTES_MIN = 64
/** Larger pieces are not copied. */
const JOINED_BYTES_MAX = 4_096
/** A loop copies up to this many bytes, a call copies more. */
const SHORT_BYTES = 24

const NO_DIGIT = 255
/** The values of hexadecimal digits, by character. */
const DIGIT = new Uint8Array(256).fill(NO_DIGIT)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  DIGIT[digit.charCodeAt(0)] = value
  DIGIT[digit.toUpperCase().charCodeAt(0)] = value
}

export class ChunkReader {
  readonly #rules: ChunkRules
  readonly #sink: ChunkSink
  #state: ChunkState = 'size'
  /** The start of an incomplete line. */
  #text = ''
  /** Remaining bytes of the chunk. */
  #left = 0
  #trailerBytes = 0
  #extensionBytes = 0

  constructor(rules: ChunkRules, sink: ChunkSink) {
    this.#rules = rules
    this.#sink = sink
  }

  get complete(): boolean {
    return this.#state === 'complete'
  }

  /** Reads from an offset to the end of the bytes or of the body, or until the sink stops. The offset reached. */
  read(bytes: Buffer, from: number): number {
    const joined = new Joined(bytes, this.#sink)
    let at = from
    try {
      while (at < bytes.length && this.#state !== 'complete' && !this.#sink.stopped) {
        at = this.#state === 'data' ? this.#readData(bytes, at, joined) : this.#readLine(bytes, at)
      }
    } finally {
      // The data before a mistake is passed on.
      joined.flush()
    }
    return at
  }

  #readData(bytes: Buffer, at: number, joined: Joined): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    if (this.#left === 0) this.#state = 'data end'
    joined.add(at, end)
    return end
  }

  #readLine(bytes: Buffer, at: number): number {
    if (this.#text === '') {
      if (this.#state === 'data end' && bytes[at] === CR && bytes[at + 1] === LF) {
        this.#state = 'size'
        return at + CRLF.length
      }
      const end = this.#state === 'size' ? this.#readPlainSize(bytes, at) : 0
      if (end > 0) return end
    }
    return this.#readAnyLine(bytes, at)
  }

  /** Reads digits and the end of a complete line; 0 for anything else. */
  #readPlainSize(bytes: Buffer, from: number): number {
    let size = 0
    let at = from
    const most = Math.min(bytes.length, from + DIGITS_MAX)
    for (; at < most; at++) {
      const digit = DIGIT[bytes[at] ?? 0] ?? NO_DIGIT
      if (digit === NO_DIGIT) break
      size = size * 16 + digit
    }
    if (at === from || bytes[at] !== CR || bytes[at + 1] !== LF) return 0
    this.#enter(size)
    return at + CRLF.length
  }

  #readAnyLine(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(LF, at)
    const end = found === -1 ? bytes.length : found + 1
    if (this.#text.length + end - at > this.#lineMax()) throw this.#lineTooLong()
    const line = this.#text + bytes.toString('latin1', at, end)
    const cr = line.indexOf('\r')
    if (cr !== -1 && cr < line.length - 1 && line[cr + 1] !== '\n')
      throw this.#rules.malformed('A line of its body has a CR inside.')
    if (found === -1) {
      if (this.#isHopeless(line))
        throw this.#rules.malformed('A line between its chunks is malformed.')
      this.#text = line
      return end
    }
    this.#text = ''
    if (!line.endsWith(CRLF)) throw this.#rules.malformed('A line of its body ends without CR.')
    if (this.#state === 'size') this.#readSize(line)
    else if (this.#state === 'trailers') this.#readTrailer(line)
    else if (line === CRLF) this.#state = 'size'
    else throw this.#rules.malformed('A chunk is longer than its size.')
    return end
  }

  /** Whether the beginning of a line already shows that it is too long or invalid. */
  #isHopeless(line: string): boolean {
    if (this.#state === 'data end') return !CRLF.startsWith(line)
    return this.#state === 'size' && DIGIT[line.charCodeAt(0)] === NO_DIGIT
  }

  #lineMax(): number {
    if (this.#state === 'data end') return CRLF.length
    const { sizeLineMax, trailersMax } = this.#rules
    return this.#state === 'size' ? sizeLineMax : trailersMax - this.#trailerBytes
  }

  #lineTooLong(): Error {
    if (this.#state === 'trailers') return this.#rules.tooLong()
    return this.#rules.malformed(
      this.#state === 'size'
        ? 'The size of a chunk is too long.'
        : 'A chunk is longer than its size.',
    )
  }

  #readSize(line: string): void {
    const digits = this.#rules.sizeLine.exec(line)?.[1]
    if (digits === undefined) throw this.#rules.malformed('The size of a chunk is not a number.')
    this.#extensionBytes += line.length - digits.length - CRLF.length
    if (this.#extensionBytes > this.#rules.extensionsMax)
      throw this.#rules.malformed('The chunks have too many extensions.')
    this.#enter(Number.parseInt(digits, 16))
  }

  #enter(size: number): void {
    this.#left = size
    this.#state = size === 0 ? 'trailers' : 'data'
  }

  #readTrailer(line: string): void {
    if (line === CRLF) {
      this.#state = 'complete'
      return
    }
    this.#trailerBytes += line.length
    if (!this.#rules.isTrailer(line)) throw this.#rules.malformed('A trailer is malformed.')
  }
}

/** The data of one read, with small pieces joined in a copy: a caller may still need the bytes as they arrived. */
class Joined {
  readonly #bytes: Buffer
  readonly #sink: ChunkSink
  /** The first piece, which is not copied while it is the only one. */
  #from = 0
  #to = 0
  #copy: Buffer | undefined
  #used = 0

  constructor(bytes: Buffer, sink: ChunkSink) {
    this.#bytes = bytes
    this.#sink = sink
  }

  add(from: number, to: number): void {
    const length = to - from
    if (length >= OWN_PIECE_BYTES_MIN && (length > JOINED_BYTES_MAX || !this.#sink.joins)) {
      this.flush()
      this.#sink.onData(this.#bytes.subarray(from, to))
    } else if (this.#copy !== undefined) this.#append(this.#copy, from, to)
    else if (this.#to === 0) {
      this.#from = from
      this.#to = to
    } else {
      this.#copy = Buffer.allocUnsafe(this.#bytes.length - this.#from)
      this.#append(this.#copy, this.#from, this.#to)
      this.#append(this.#copy, from, to)
    }
  }

  flush(): void {
    const copy = this.#copy
    if (this.#to === 0) return
    const data = copy?.subarray(0, this.#used) ?? this.#bytes.subarray(this.#from, this.#to)
    this.#to = 0
    this.#used = 0
    this.#copy = undefined
    this.#sink.onData(data)
  }

  #append(copy: Buffer, from: number, to: number): void {
    const bytes = this.#bytes
    if (to - from > SHORT_BYTES) this.#used += bytes.copy(copy, this.#used, from, to)
    else for (let at = from; at < to; at++) copy[this.#used++] = bytes[at] ?? 0
  }
}
