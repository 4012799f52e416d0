/**
 * One message of a client and its answer, in the form that every stage of a request uses: an arriving body, and a
 * stream.
 */
import type { Socket } from 'node:net'
import type { GatewayError } from '../../base/errors.ts'
import type {
  AnswerListener,
  BodyTaker,
  ClientCertificate,
  Incoming,
  Outgoing,
} from '../../call/call.ts'
import type { Api, DialogueTurn, SocketApi } from '../../request/api.ts'
import { EventMessages, type Messages } from '../../websocket/event-messages.ts'
import { certificateOf } from '../client-certificate.ts'
import { queuedBytes } from '../node-exchange.ts'
import type { Greeting } from './greeting.ts'

/** The part of the connection that a turn needs. */
export interface TurnCarrier {
  readonly socket: Socket
  readonly greeting: Greeting
  readonly bytesMax: number
  /** Whether writes wait for the end of the turn of the event loop. */
  readonly isHeld: boolean
  /** A text, or a part of one. */
  send(text: Buffer, isFirst: boolean, isLast: boolean): void
  ping(): void
  /** The socket has everything. */
  answered(turn: SocketTurn): void
  /** Closes so that no client takes the answer for complete. */
  fail(): void
}

/** A body that no stage has read yet is read up to this size. */
const EARLY_BYTES_MAX = 65_536
/** Headers of an answer that have no meaning for a client of a WebSocket. */
const NO_FACTS: ReadonlySet<string> = new Set([
  'cache-control',
  'connection',
  'content-type',
  'x-accel-buffering',
])
/** Headers of the handshake that do not apply to its messages. */
const NOT_OF_MESSAGES: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'expect',
  'transfer-encoding',
])

export class SocketTurn implements Incoming, Outgoing, Messages {
  readonly method = 'GET'
  readonly httpVersion = '1.1'
  /** The connection stays open, however much of a refused message is still to come. */
  readonly complete = true
  /** The answer has been sent except for its end. */
  hasSpoken = false
  /** Number of ends so far: of the request, and of the writing of its answer. */
  ends = 0
  readonly #carrier: TurnCarrier
  readonly #api: SocketApi
  readonly #turn: DialogueTurn
  readonly #length: number | undefined
  readonly #messages = new EventMessages(this)
  /** The pieces that arrived before a stage reads the body. */
  #early: Buffer[] = []
  #earlyBytes = 0
  #isWhole = false
  #fault: GatewayError | undefined
  #taker: BodyTaker | undefined
  #listener: AnswerListener | undefined
  #facts: Record<string, string> | undefined
  #isOver = false

  /** `length`: of the message, if it is known. */
  constructor(
    carrier: TurnCarrier,
    api: SocketApi,
    turn: DialogueTurn,
    length: number | undefined,
  ) {
    this.#carrier = carrier
    this.#api = api
    this.#turn = turn
    this.#length = length
  }

  get url(): string {
    return this.#carrier.greeting.url
  }

  get pathModel(): string | undefined {
    return this.#carrier.greeting.pathModel
  }

  get rawHeaders(): readonly string[] {
    return this.#carrier.greeting.rawHeaders
  }

  get peerAddress(): string | undefined {
    return this.#carrier.socket.remoteAddress
  }

  get certificate(): ClientCertificate | undefined {
    return certificateOf(this.#carrier.socket)
  }

  header(name: string): string | undefined {
    if (name === 'content-type') return 'application/json'
    if (name === 'content-length' && this.#length !== undefined) return String(this.#length)
    return NOT_OF_MESSAGES.has(name) ? undefined : this.#carrier.greeting.header(name)
  }

  data(piece: Buffer): void {
    if (this.#taker !== undefined) this.#taker.data(piece)
    else if (!this.#isOver) {
      this.#early.push(piece)
      this.#earlyBytes += piece.length
      if (this.#earlyBytes > EARLY_BYTES_MAX) this.#carrier.socket.pause()
    }
  }

  arrived(): void {
    this.#isWhole = true
    this.#taker?.ended()
  }

  /** The rest of the message will not arrive, or is not needed. */
  breakBody(why: GatewayError): void {
    if (this.#isWhole) return
    this.#fault ??= why
    this.#taker?.broken(why)
  }

  takeWhole(): Buffer | undefined {
    if (!this.#isWhole) return undefined
    const [first = NOTHING, ...others] = this.#early.splice(0)
    return others.length === 0 ? first : Buffer.concat([first, ...others])
  }

  takeBody(taker: BodyTaker): void {
    this.#taker = taker
    for (const piece of this.#early.splice(0)) taker.data(piece)
    if (this.#fault !== undefined) taker.broken(this.#fault)
    else if (this.#isWhole) taker.ended()
    else this.#carrier.socket.resume()
  }

  get run(): Api['run'] {
    return (visit) => this.#turn.run(visit)
  }

  bodyOf(message: Buffer): Promise<Buffer> {
    return this.#turn.bodyOf(message)
  }

  answerLast(): void {}
  askForBody(): void {}

  tell(listener: AnswerListener): void {
    this.#listener = listener
  }

  sendWhole(status: number, headers: string[], body: string | Buffer): void {
    const { members } = this.#turn
    const event = this.#api.refusalEvent(status, factsOf(headers), String(body), members)
    this.#carrier.send(Buffer.from(event), true, true)
    this.end()
  }

  begin(headers: string[]): void {
    this.#facts = factsOf(headers)
  }

  write(piece: string | Buffer): boolean {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (!this.#isOver) this.#messages.write(bytes)
    return !this.needsDrain
  }

  end(): void {
    if (this.#isOver) return
    this.#over()
    if (this.#messages.isOpen) this.#carrier.fail()
    else this.#carrier.answered(this)
  }

  cut(): void {
    if (this.#isOver) return
    this.#over()
    this.#carrier.fail()
  }

  destroy(): void {
    this.#carrier.socket.destroy()
  }

  /** The client has read everything, or has left. */
  close(why: GatewayError): void {
    this.#over()
    this.#listener?.closed()
    this.breakBody(why)
  }

  drained(): void {
    if (!this.#isOver) this.#listener?.drained()
  }

  turned(): void {
    this.#listener?.turned()
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

  get isQueued(): boolean {
    return this.#carrier.isHeld
  }

  part(bytes: Buffer, isFirst: boolean, isLast: boolean): void {
    this.#carrier.send(bytes, isFirst, isLast)
  }

  ping(): void {
    this.#carrier.ping()
  }

  /** The first event contains the headers with which an answer over HTTP begins. */
  membersOfNext(): string {
    const facts = this.#facts
    this.#facts = undefined
    return (facts === undefined ? '' : this.#turn.firstMembers(facts)) + this.#turn.members
  }

  isLastEvent(name: string): boolean {
    return this.#api.lastEvents.has(name)
  }

  ended(data: Buffer | undefined): void {
    this.hasSpoken = true
    this.#turn.ended(data)
  }

  get keptMax(): number {
    return this.#carrier.bytesMax
  }

  #over(): void {
    this.hasSpoken = true
    this.#isOver = true
    this.#early = []
    // The rest of the message is read and dropped.
    if (!this.#isWhole) this.#carrier.socket.resume()
  }
}

const NOTHING = Buffer.alloc(0)

function factsOf(headers: readonly string[]): Record<string, string> {
  const facts: Record<string, string> = {}
  for (let index = 0; index < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase()
    if (!NO_FACTS.has(name)) facts[name] = headers[index + 1] ?? ''
  }
  return facts
}
