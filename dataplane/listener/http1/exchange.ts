/** One plain request and its answer on a connection that the gateway reads itself. */
import type { Socket } from 'node:net'
import type { GatewayError } from '../../base/errors.ts'
import { LARGE_BYTES } from '../../base/heavy-work.ts'
import type {
  AnswerListener,
  BodyTaker,
  ClientCertificate,
  Incoming,
  LastKey,
  Outgoing,
} from '../../call/call.ts'
import { headerIn, headersOf } from '../../http1/header-lines.ts'
import { writeJoined } from '../../http1/joined-write.ts'
import type { Api } from '../../request/api.ts'
import { certificateOf } from '../client-certificate.ts'
import { leftEarly, queuedBytes } from '../node-exchange.ts'
import { headerLines, saysClose, statusLine } from './answer-text.ts'
import { ChunkedBody } from './chunked-body.ts'
import { isKept, type PlainHead } from './plain-head.ts'

/** The part of the connection that an exchange needs. */
export interface Carrier {
  readonly socket: Socket
  /** Whether writes wait for the end of the turn. */
  readonly isHeld: boolean
  /** Monotonic time after which the connection is closed after an answer. */
  readonly endsAt: number
  readonly lastKey: LastKey
  /** After the last answer the client may still be sending. */
  lingers: boolean
  hold(): void
  /** The last lines of a head. */
  commonLines(isLast: boolean): string
  /** Called when the socket has the last byte of the answer. */
  answered(exchange: PlainExchange): void
}

const NOTHING = Buffer.alloc(0)
/** A body that no stage has read yet is read up to this size. */
const EARLY_BYTES_MAX = 65_536

export class PlainExchange implements Incoming, Outgoing {
  readonly method: string
  readonly url: string
  /** The answer is the connection's last. */
  isLast = false
  readonly #head: PlainHead
  #rawHeaders: readonly string[] | undefined
  readonly #carrier: Carrier
  /** Bytes of a body with a length that have not arrived. */
  #left = 0
  readonly #chunks: ChunkedBody | undefined
  /** The part of it that arrived before a stage reads it: with the head, or while its caller is being identified. */
  #first: Buffer = NOTHING
  /** The body breaks off before a stage reads it. */
  #fault: GatewayError | undefined
  #received = 0
  #isTaken = false
  #taker: BodyTaker | undefined
  #listener: AnswerListener | undefined
  /** The head of a stream, until it is sent with the first piece. */
  #unsent = ''
  #isBegun = false
  #isOver = false

  constructor(carrier: Carrier, asked: Pick<Api, 'method' | 'path'>, head: PlainHead) {
    this.method = asked.method
    this.url = asked.path
    this.#carrier = carrier
    this.#head = head
    this.#left = head.length
    this.#chunks = head.isChunked ? new ChunkedBody() : undefined
  }

  /** Takes the bytes that came with the head, from an offset; returns the offset after them. */
  open(bytes: Buffer, from: number): number {
    const end = this.#chunks?.read(bytes, from) ?? Math.min(bytes.length, from + this.#left)
    this.#first = this.#chunks?.take() ?? bytes.subarray(from, end)
    this.#left -= this.#chunks === undefined ? end - from : 0
    this.#received = end - from
    return end
  }

  header(name: string): string | undefined {
    return isKept(name) ? this.#head.kept[name] : headerIn(this.rawHeaders, name)
  }

  get peerAddress(): string | undefined {
    return this.#carrier.socket.remoteAddress
  }

  /** The first line of a plain request shows its version. */
  get httpVersion(): string {
    return '1.1'
  }

  get lastKey(): LastKey {
    return this.#carrier.lastKey
  }

  get certificate(): ClientCertificate | undefined {
    return certificateOf(this.#carrier.socket)
  }

  get rawHeaders(): readonly string[] {
    this.#rawHeaders ??= headersOf(this.#head.lines)
    return this.#rawHeaders
  }

  /** An unread body counts as still arriving, so that a refusal does not depend on how the bytes arrive. */
  get complete(): boolean {
    if (this.takesMore || this.#chunks?.fault !== undefined) return false
    return this.#isTaken || (this.#head.length === 0 && this.#chunks === undefined)
  }

  /** Whether the next bytes belong to it. */
  get takesMore(): boolean {
    return this.#chunks === undefined ? this.#left > 0 : this.#chunks.takesMore
  }

  /** More of its body has arrived, or is announced, than usually comes with a head. */
  get isLarge(): boolean {
    return this.#head.length > LARGE_BYTES || this.#received > LARGE_BYTES
  }

  takeWhole(): Buffer | undefined {
    if (this.takesMore || this.#chunks?.fault !== undefined) return undefined
    this.#isTaken = true
    return this.#first
  }

  get endsAt(): number {
    return this.#carrier.endsAt
  }

  answerLast(): void {
    this.#carrier.lingers = true
  }

  /** A request with `Expect` is never served here. */
  askForBody(): void {}

  takeBody(taker: BodyTaker): void {
    this.#isTaken = true
    this.#taker = taker
    if (this.#first.length > 0) taker.data(this.#first)
    const fault = this.#chunks?.fault ?? this.#fault
    if (fault !== undefined) taker.broken(fault)
    else if (!this.takesMore) taker.ended()
    else if (this.#first.length > EARLY_BYTES_MAX) this.#carrier.socket.resume()
  }

  /** More of the body; returns how much of the chunk was. */
  feed(chunk: Buffer): number {
    const taken = this.#chunks?.read(chunk, 0) ?? Math.min(this.#left, chunk.length)
    const data = this.#chunks?.take() ?? chunk.subarray(0, taken)
    this.#left -= this.#chunks === undefined ? taken : 0
    this.#received += taken
    if (this.#taker === undefined) this.#keep(data)
    else if (data.length > 0) this.#taker.data(data)
    if (this.#chunks?.fault !== undefined) this.#taker?.broken(this.#chunks.fault)
    else if (!this.takesMore) this.#taker?.ended()
    return taken
  }

  /** No stage has read the body yet; after an answer none will. */
  #keep(data: Buffer): void {
    if (data.length === 0 || this.#isTaken || this.#isBegun || this.#isOver) return
    // The memory of a chunk is reused.
    this.#first = Buffer.concat([this.#first, data])
    if (this.#first.length > EARLY_BYTES_MAX) this.#carrier.socket.pause()
  }

  /** The rest of the body will not arrive. */
  breakBody(why: GatewayError): void {
    if (!this.takesMore) return
    this.#fault ??= why
    this.#taker?.broken(why)
  }

  /** The connection is closed, or has accepted everything. */
  close(): void {
    this.#isOver = true
    this.#listener?.closed()
    this.breakBody(leftEarly())
  }

  tell(listener: AnswerListener): void {
    this.#listener = listener
  }

  sendWhole(status: number, headers: string[], body: string | Buffer): void {
    const length = Buffer.byteLength(body)
    const head = `${this.#headOf(status, headers)}content-length: ${length}\r\n${this.#tail()}\r\n`
    const { socket } = this.#carrier
    this.#carrier.hold()
    // A client that has left reads no more.
    if (!socket.writable) this.isLast = true
    else writeJoined(socket, head, body)
    this.#finish()
  }

  begin(headers: string[]): void {
    this.#isBegun = true
    this.#unsent = `${this.#headOf(200, headers)}${this.#tail()}Transfer-Encoding: chunked\r\n\r\n`
  }

  write(piece: string | Buffer): boolean {
    const { socket } = this.#carrier
    const length = Buffer.byteLength(piece)
    if (this.#isOver || length === 0 || !socket.writable) return true
    this.#carrier.hold()
    const before = `${this.#unsent}${length.toString(16)}\r\n`
    this.#unsent = ''
    return writeJoined(socket, before, piece, '\r\n')
  }

  end(): void {
    if (this.#isOver) return
    const { socket } = this.#carrier
    this.#carrier.hold()
    if (socket.writable) socket.write(`${this.#unsent}0\r\n\r\n`, 'latin1')
    this.#finish()
  }

  /** Omits the terminating chunk. */
  cut(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#carrier.socket.destroySoon()
  }

  destroy(): void {
    this.#carrier.socket.destroy()
  }

  /** The socket has written its buffer. */
  drained(): void {
    if (this.#isBegun && !this.#isOver) this.#listener?.drained()
  }

  /** A finished answer was passed to the system, which has not accepted all of it. */
  turned(): void {
    this.#listener?.turned()
  }

  get isQueued(): boolean {
    return this.#carrier.isHeld
  }

  get needsDrain(): boolean {
    return this.#carrier.socket.writableNeedDrain
  }

  get unwritten(): number {
    return this.#carrier.socket.writableLength
  }

  get untaken(): number {
    const { socket } = this.#carrier
    return socket.writableLength + queuedBytes(socket)
  }

  #headOf(status: number, headers: readonly string[]): string {
    this.isLast = saysClose(headers)
    return statusLine(status) + headerLines(headers)
  }

  #tail(): string {
    return this.#carrier.commonLines(this.isLast)
  }

  #finish(): void {
    this.#isOver = true
    this.#carrier.answered(this)
  }
}
