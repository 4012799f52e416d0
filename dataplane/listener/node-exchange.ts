/** A request and its answer as Node's HTTP server reads and writes them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../base/errors.ts'
import type {
  AnswerListener,
  BodyTaker,
  ClientCertificate,
  Incoming,
  Outgoing,
} from '../call/call.ts'
import { headerIn } from '../http1/header-lines.ts'
import { JOINED_BYTES_MAX } from '../http1/joined-write.ts'
import { certificateOf } from './client-certificate.ts'
import { type Answering, HandedOver } from './handed-over.ts'
import { headerLines, statusLine } from './http1/answer-text.ts'
import type { Meant } from './meant.ts'

export class NodeExchange implements Incoming, Outgoing, Answering {
  readonly method: string
  readonly url: string
  readonly pathModel: string | undefined
  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse
  #listener: AnswerListener | undefined
  #taker: BodyTaker | undefined
  #isTaken = false
  /** The body breaks off before a stage reads it. */
  #fault: GatewayError | undefined
  #waits = false
  /** Receives the connection of a WebSocket, and the bytes after the handshake. */
  upgraded: ((raw: Socket, rest: Buffer | undefined) => void) | undefined

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { url, model }: Meant = { url: incoming.url ?? '' },
  ) {
    this.method = incoming.method ?? ''
    this.url = url
    this.pathModel = model
    this.#incoming = incoming
    this.#outgoing = outgoing
  }

  get peerAddress(): string | undefined {
    const { socket } = this.#incoming
    return (this.#connection?.raw ?? socket).remoteAddress
  }

  get httpVersion(): string {
    return this.#incoming.httpVersion
  }

  get certificate(): ClientCertificate | undefined {
    return certificateOf(this.#connection?.raw)
  }

  get rawHeaders(): readonly string[] {
    return this.#incoming.rawHeaders
  }

  header(name: string): string | undefined {
    return headerIn(this.#incoming.rawHeaders, name)
  }

  /** An unread body counts as still arriving, so that a refusal does not depend on how the bytes arrive. */
  get complete(): boolean {
    return this.#incoming.complete && this.#isTaken
  }

  get #connection(): HandedOver | undefined {
    const { socket } = this.#incoming
    return socket instanceof HandedOver ? socket : undefined
  }

  get endsAt(): number {
    return this.#connection?.endsAt ?? Number.POSITIVE_INFINITY
  }

  /** Whether its answer is the last of the connection. */
  get isLast(): boolean {
    return this.#connection?.isLast === true
  }

  answerLast(): void {
    if (this.#connection !== undefined) this.#connection.isLast = true
  }

  /**
   * The stage that reads a body refuses it if it breaks off; if no stage reads it, the answer is already being sent.
   */
  breakOff(refusal: GatewayError): void {
    const { socket } = this.#incoming
    if (this.#incoming.complete) {
      // A request is not refused for garbage after it: it gets its answer, which is the last one.
      this.answerLast()
      this.#outgoing.on('finish', () => socket.destroySoon())
    } else if (!this.#outgoing.headersSent) {
      this.#fault ??= refusal
      this.#taker?.broken(refusal)
    } else if (!this.#outgoing.writableEnded) socket.destroy()
  }

  askForBody(): void {
    this.#outgoing.writeContinue()
  }

  takeWhole(): undefined {}

  takeBody(taker: BodyTaker): void {
    const incoming = this.#incoming
    this.#isTaken = true
    this.#taker = taker
    incoming.on('data', (chunk: Buffer) => {
      taker.data(chunk)
      if (!taker.sated) return
      incoming.removeAllListeners('data')
      incoming.resume()
    })
    incoming.on('end', () => taker.ended())
    incoming.on('close', () => {
      if (!incoming.complete) taker.broken(leftEarly())
    })
    const fault =
      this.#fault ?? (incoming.destroyed && !incoming.complete ? leftEarly() : undefined)
    if (fault !== undefined) taker.broken(fault)
  }

  tell(listener: AnswerListener): void {
    this.#listener = listener
    this.#outgoing.on('close', () => listener.closed())
  }

  sendWhole(status: number, headers: string[], body: string | Buffer): void {
    const outgoing = this.#outgoing
    headers.push('content-length', String(Buffer.byteLength(body)))
    outgoing.writeHead(status, headers)
    if (this.method === 'HEAD') outgoing.end()
    else if (typeof body === 'string' || body.length > JOINED_BYTES_MAX) outgoing.end(body)
    else outgoing.end(body.toString('latin1'), 'latin1')
    this.#awaitTurn()
  }

  begin(headers: string[]): void {
    this.#outgoing.writeHead(200, headers)
  }

  write(piece: string | Buffer): boolean {
    if (this.#outgoing.write(piece)) return true
    if (!this.#waits) {
      this.#waits = true
      this.#outgoing.once('drain', () => this.#drained())
    }
    return false
  }

  end(): void {
    this.#outgoing.end()
    this.#awaitTurn()
  }

  upgrade(headers: string[]): void {
    const connection = this.#connection
    if (connection === undefined) return
    const { raw } = connection
    const rest = connection.letGo()
    raw.write(`${statusLine(101)}${headerLines(headers)}\r\n`, 'latin1')
    this.upgraded?.(raw, rest)
  }

  /** Omits the terminating chunk. */
  cut(): void {
    const { socket } = this.#outgoing
    if (socket === null) {
      this.#awaitTurn()
      return
    }
    // Without chunks a close is a normal end, so only a reset shows the failure.
    if (this.#outgoing.chunkedEncoding) socket.destroySoon()
    else socket.resetAndDestroy()
  }

  destroy(): void {
    this.#outgoing.destroy()
  }

  get needsDrain(): boolean {
    return this.#outgoing.writableNeedDrain
  }

  get unwritten(): number {
    return this.#outgoing.writableLength
  }

  get untaken(): number {
    return this.unwritten + queuedBytes(this.#outgoing.socket)
  }

  get isQueued(): boolean {
    return this.#outgoing.socket === null
  }

  #drained(): void {
    this.#waits = false
    this.#listener?.drained()
  }

  /** An earlier answer of the connection may not have ended; this one follows it. */
  #awaitTurn(): void {
    if (!this.isQueued || this.unwritten === 0) return
    this.#outgoing.once('socket', () => process.nextTick(() => this.#listener?.turned()))
  }
}

/** Bytes in the socket's queue that have not been sent. */
export function queuedBytes(socket: Socket | null): number {
  const raw = socket instanceof HandedOver ? socket.raw : socket
  // Node's own idle timeout of a socket uses the same number; it has no public name.
  const { _handle } = (raw ?? {}) as { _handle?: { writeQueueSize?: number } | null }
  return _handle?.writeQueueSize ?? 0
}

export function leftEarly(): GatewayError {
  return new GatewayError('ERR_GW_STREAM_ABORTED', 'The client left before its body was complete.')
}
