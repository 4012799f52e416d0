/**
 * Reads the frames of one client (RFC 6455, 5), which may be split at any byte: messages of text, and control frames.
 */
import { isUtf8 } from 'node:buffer'
import { CLOSE, OPCODE } from './frames.ts'
import { Utf8Check } from './utf8.ts'

/** The client has violated the protocol, or a bound; the connection ends with this code. */
export class FrameError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export interface FrameSink {
  /** Whether the next message must not begin yet. */
  readonly isWaiting: boolean
  /** The bound of a message, including all of its fragments. */
  readonly bytesMax: number
  /** A message begins; `length`: that of one without fragments. */
  begins(length: number | undefined): void
  /** The bytes belong to the chunk that is being read. */
  data(piece: Buffer): void
  ends(): void
  ping(payload: Buffer): void
  closes(code: number): void
}

const FIN = 0x80
const RESERVED = 0x70
const MASKED = 0x80
const CONTROL = 0x08
const CONTROL_BYTES_MAX = 125
const HEAD_BYTES_MAX = 14
const MASK_BYTES = 4
/** Longer than every bound; its upper bytes need not be read exactly. */
const HUGE = Number.MAX_SAFE_INTEGER

export class FrameReader {
  readonly #sink: FrameSink
  readonly #head = Buffer.allocUnsafe(HEAD_BYTES_MAX)
  /** Bytes of the head so far. */
  #have = 0
  /** Remaining bytes of the payload; -1 while the head is read. */
  #left = -1
  #opcode = 0
  #isLast = false
  /** Index of the next byte of the mask. */
  #turn = 0
  #control: Buffer = NOTHING
  #isInMessage = false
  #messageBytes = 0
  readonly #text = new Utf8Check()

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** Unmasks in place. Returns the offset where it stopped: the end, or a message that must wait. Throws FrameError. */
  read(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length) {
      if (this.#left >= 0) at = this.#readPayload(bytes, at)
      else if (this.#have === 0 && this.#mustWait(bytes[at] ?? 0)) return at
      else at = this.#readHead(bytes, at)
    }
    return at
  }

  #mustWait(first: number): boolean {
    const opcode = first & 0x0f
    return opcode !== OPCODE.more && opcode < CONTROL && this.#sink.isWaiting
  }

  #readHead(bytes: Buffer, from: number): number {
    const head = this.#head
    let at = from
    while (at < bytes.length && this.#have < headLength(head, this.#have)) {
      head[this.#have++] = bytes[at++] ?? 0
      if (this.#have === 2) this.#judge(head[0] ?? 0, head[1] ?? 0)
    }
    if (this.#have < 2 || this.#have < headLength(head, this.#have)) return at
    this.#open(payloadLength(head))
    return at
  }

  /** Refuses first two bytes that violate the protocol. */
  #judge(first: number, second: number): void {
    const opcode = first & 0x0f
    const isLast = (first & FIN) !== 0
    if ((first & RESERVED) !== 0) throw broken('A reserved bit is set.')
    if ((second & MASKED) === 0) throw broken('A frame is not masked.')
    if (opcode >= CONTROL) {
      if (opcode > OPCODE.pong) throw broken(`There is no opcode ${opcode}.`)
      if (!isLast) throw broken('A control frame is fragmented.')
      if ((second & 0x7f) > CONTROL_BYTES_MAX) throw broken('A control frame is too long.')
    } else if (opcode === OPCODE.more) {
      if (!this.#isInMessage) throw broken('A fragment has no message.')
    } else {
      if (opcode > OPCODE.binary) throw broken(`There is no opcode ${opcode}.`)
      if (this.#isInMessage) throw broken('A message begins inside another one.')
      if (opcode === OPCODE.binary)
        throw new FrameError(CLOSE.notText, 'Send messages as text, not as binary.')
    }
    this.#opcode = opcode
    this.#isLast = isLast
  }

  #open(length: number): void {
    this.#have = 0
    this.#turn = 0
    this.#left = length
    if (this.#opcode >= CONTROL) this.#control = NOTHING
    else {
      if (this.#opcode === OPCODE.text) {
        this.#isInMessage = true
        this.#messageBytes = 0
        this.#sink.begins(this.#isLast ? length : undefined)
      }
      this.#messageBytes += length
      const { bytesMax } = this.#sink
      if (this.#messageBytes > bytesMax)
        throw new FrameError(CLOSE.tooLarge, `A message is larger than ${bytesMax} bytes.`)
    }
    if (length === 0) this.#finish()
  }

  #readPayload(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    const piece = bytes.subarray(at, end)
    this.#unmask(piece)
    this.#left -= piece.length
    if (this.#opcode >= CONTROL) this.#control = Buffer.concat([this.#control, piece])
    else {
      if (!this.#text.takes(piece)) throw notUtf8()
      this.#sink.data(piece)
    }
    if (this.#left === 0) this.#finish()
    return end
  }

  #unmask(piece: Buffer): void {
    const head = this.#head
    const maskAt = headLength(head, 2) - MASK_BYTES
    let turn = this.#turn
    for (let index = 0; index < piece.length; index++) {
      piece[index] = (piece[index] ?? 0) ^ (head[maskAt + turn] ?? 0)
      turn = (turn + 1) & 3
    }
    this.#turn = turn
  }

  #finish(): void {
    this.#left = -1
    if (this.#opcode >= CONTROL) {
      if (this.#opcode === OPCODE.ping) this.#sink.ping(this.#control)
      else if (this.#opcode === OPCODE.close) this.#sink.closes(closeCodeOf(this.#control))
    } else if (this.#isLast) {
      this.#isInMessage = false
      if (!this.#text.ends()) throw notUtf8()
      this.#sink.ends()
    }
  }
}

const NOTHING = Buffer.alloc(0)

/** The length of a head from its first `have` bytes. */
function headLength(head: Buffer, have: number): number {
  if (have < 2) return 2
  const short = (head[1] ?? 0) & 0x7f
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + MASK_BYTES
}

function payloadLength(head: Buffer): number {
  const short = (head[1] ?? 0) & 0x7f
  if (short < 126) return short
  const length = short === 126 ? head.readUInt16BE(2) : longLength(head)
  if (length < (short === 126 ? 126 : 65_536))
    throw broken('A length is written in too many bytes.')
  return length
}

function longLength(head: Buffer): number {
  const [upper, lower] = [head.readUInt32BE(2), head.readUInt32BE(6)]
  if (upper > 0x7fff_ffff) throw broken('A length is no length.')
  return upper > 0x001f_ffff ? HUGE : upper * 0x1_0000_0000 + lower
}

/** Throws for a code or a reason that must not be sent. */
function closeCodeOf(payload: Buffer): number {
  if (payload.length === 0) return CLOSE.none
  const code = payload.length === 1 ? 0 : payload.readUInt16BE()
  const isDefined = code >= 1000 && code <= 1014 && !(code >= 1004 && code <= 1006)
  if (!isDefined && !(code >= 3000 && code <= 4999)) throw broken(`There is no close code ${code}.`)
  if (!isUtf8(payload.subarray(2))) throw notUtf8()
  return code
}

function broken(message: string): FrameError {
  return new FrameError(CLOSE.protocol, message)
}

function notUtf8(): FrameError {
  return new FrameError(CLOSE.notUtf8, 'A text is not valid UTF-8.')
}
