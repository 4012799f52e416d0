/** A WebSocket of a client: one message and its answer after the other, and the control frames between them. */
import type { Socket } from 'node:net'
import { GatewayError } from '../../base/errors.ts'
import type { Member } from '../../base/roster.ts'
import { tooLarge } from '../../body/reader.ts'
import type { ApiWithSocket, Dialogue } from '../../request/api.ts'
import { FrameError, FrameReader, type FrameSink } from '../../websocket/frame-reader.ts'
import { CLOSE } from '../../websocket/frames.ts'
import { linger } from '../lingering.ts'
import { leftEarly } from '../node-exchange.ts'
import type { Greeting } from './greeting.ts'
import { SocketTurn, type TurnCarrier } from './turn.ts'
import { FrameWriter } from './writer.ts'

/** The owner of the connections. */
export interface SocketOwner {
  readonly bytesMax: number
  readonly heartbeatMs: number
  /** A client that has sent nothing for this long does not answer pings and has left. */
  readonly silenceMs: number
  /** Whether connections are closed after their answers. */
  readonly isClosing: boolean
  now(): number
  /** Serves a message, or refuses it. */
  serve(turn: SocketTurn, connection: SocketConnection, refusal?: GatewayError): Promise<void>
  /** The text before the end of a connection that has reached its maximum age. */
  lastEvent(connection: SocketConnection): string
  gone(connection: SocketConnection): void
}

interface SocketParts {
  readonly socket: Socket
  readonly greeting: Greeting
  readonly api: ApiWithSocket
  readonly dialogue: Dialogue
  /** Monotonic times after which it is closed after an answer. */
  readonly endsAt: number
  readonly lastAt: number
}

const CONNECTION = Symbol('websocket')
type Carrying = Socket & { [CONNECTION]?: SocketConnection }

export class SocketConnection implements Member, FrameSink, TurnCarrier {
  seat = -1
  readonly socket: Socket
  readonly greeting: Greeting
  readonly api: ApiWithSocket
  readonly dialogue: Dialogue
  readonly #endsAt: number
  readonly #lastAt: number
  readonly #owner: SocketOwner
  readonly #reader = new FrameReader(this)
  readonly #writer: FrameWriter
  #isOpen = true
  /** The message in progress. */
  #turn: SocketTurn | undefined
  /** The message that is being read, if it gets an answer. */
  #receiver: SocketTurn | undefined
  /** Bytes after the message in progress. */
  #rest: Buffer | undefined
  /** Answers that have ended and wait for the write at the end of the turn. */
  #answered: SocketTurn[] = []
  /** The close that follows the answer. */
  #end: { readonly code: number; readonly reason: string } | undefined
  #heardAt: number
  #nextPing: number

  constructor(
    { socket, greeting, api, dialogue, endsAt, lastAt }: SocketParts,
    owner: SocketOwner,
  ) {
    this.socket = socket
    this.greeting = greeting
    this.api = api
    this.dialogue = dialogue
    this.#endsAt = endsAt
    this.#lastAt = lastAt
    this.#owner = owner
    this.#writer = new FrameWriter(socket, () => this.#flushed())
    this.#heardAt = owner.now()
    this.#nextPing = this.#heardAt + owner.heartbeatMs
    const carrying: Carrying = socket
    carrying[CONNECTION] = this
    socket.on('data', onData).on('end', onEnd).on('error', onEnd)
    socket.on('close', onClose).on('drain', onDrain)
  }

  get bytesMax(): number {
    return this.#owner.bytesMax
  }

  get isHeld(): boolean {
    return this.#writer.isHeld
  }

  /** The next message waits until the present answer has ended and the client reads bytes. */
  get isWaiting(): boolean {
    const turn = this.#turn
    return turn !== undefined && (turn.hasSpoken || this.socket.writableNeedDrain)
  }

  receive(chunk: Buffer): void {
    if (!this.#isOpen) return
    this.#heardAt = this.#owner.now()
    this.#read(this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]))
  }

  begins(length: number | undefined): void {
    this.#receiver = undefined
    if (this.#turn !== undefined) return
    const turn = new SocketTurn(this, this.api.socket, this.dialogue.turn(), length)
    this.#turn = turn
    this.#receiver = turn
    void this.#owner.serve(turn, this).finally(() => this.#over(turn))
  }

  data(piece: Buffer): void {
    this.#receiver?.data(piece)
  }

  ends(): void {
    const receiver = this.#receiver
    this.#receiver = undefined
    if (receiver !== undefined) receiver.arrived()
    else if (this.#end === undefined) this.#refuse(busy())
  }

  ping(answered?: Buffer): void {
    if (this.#isOpen) this.#writer.ping(answered)
  }

  /** The client ends it. */
  closes(code: number): void {
    this.close(code, '')
  }

  send(text: Buffer, isFirst: boolean, isLast: boolean): void {
    if (this.#isOpen) this.#writer.text(text, isFirst, isLast)
  }

  answered(turn: SocketTurn): void {
    if (this.isHeld) {
      this.#answered.push(turn)
      return
    }
    if (this.socket.writableLength === 0) {
      turn.close(leftEarly())
      this.#over(turn)
      return
    }
    // Called when everything before it has been written.
    this.socket.write('', 'latin1', (error) => {
      if (error != null) return
      turn.close(leftEarly())
      this.#over(turn)
    })
    turn.turned()
  }

  fail(): void {
    this.close(CLOSE.internal, 'The answer was cut.')
  }

  /** Closes it at once; a running answer ends as if the client had left. */
  close(code: number, reason: string): void {
    if (!this.#isOpen) return
    this.#writer.close(code, reason)
    this.#isOpen = false
    this.#rest = undefined
    this.#turn?.close(leftEarly())
    this.socket.end()
    linger(this.socket)
  }

  /** Closes it now if no answer is running, otherwise after the answer. */
  leave(): void {
    if (this.#turn === undefined) this.close(CLOSE.goingAway, 'The gateway closes the connection.')
  }

  /** Checks the deadlines. */
  look(now: number): void {
    if (!this.#isOpen) return
    if (now >= this.#nextPing) {
      this.#nextPing = now + this.#owner.heartbeatMs
      this.ping()
    }
    if (this.#turn !== undefined) return
    if (now - this.#heardAt > this.#owner.silenceMs) this.socket.destroy()
    else this.#leaveIfOld(now)
  }

  drained(): void {
    this.#turn?.drained()
    this.#goOn()
  }

  closed(): void {
    this.#isOpen = false
    this.#rest = undefined
    this.#owner.gone(this)
    this.dialogue.close()
    this.#turn?.close(leftEarly())
  }

  #read(bytes: Buffer): void {
    this.#rest = undefined
    try {
      const at = this.#reader.read(bytes, 0)
      if (at === bytes.length || !this.#isOpen) return
      this.#rest = bytes.subarray(at)
      this.socket.pause()
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#broken(error)
    }
  }

  /** A message that is too large is refused like such a body; any other fault ends the connection at once. */
  #broken({ code, message }: FrameError): void {
    const receiver = this.#receiver
    if (code !== CLOSE.tooLarge || receiver === undefined || receiver !== this.#turn) {
      this.close(code, message)
      return
    }
    this.#end = { code, reason: message }
    this.#receiver = undefined
    this.socket.pause()
    receiver.breakBody(tooLarge(this.bytesMax))
  }

  #refuse(why: GatewayError): void {
    const turn = new SocketTurn(this, this.api.socket, this.dialogue.turn(), 0)
    turn.arrived()
    void this.#owner.serve(turn, this, why)
  }

  /** An answer has ended once its request is settled and the client has read its last byte. */
  #over(turn: SocketTurn): void {
    if (turn !== this.#turn || ++turn.ends < 2) return
    this.#turn = undefined
    if (this.#end !== undefined) this.close(this.#end.code, this.#end.reason)
    else if (this.#owner.isClosing) this.leave()
    else this.#leaveIfOld(this.#owner.now())
    this.#goOn()
  }

  #leaveIfOld(now: number): void {
    if (now >= this.#lastAt) this.send(Buffer.from(this.#owner.lastEvent(this)), true, true)
    if (now >= this.#endsAt) this.leave()
  }

  #flushed(): void {
    for (const turn of this.#answered.splice(0)) this.answered(turn)
  }

  /** Reads the waiting bytes. */
  #goOn(): void {
    if (!this.#isOpen || this.isWaiting) return
    this.socket.resume()
    if (this.#rest !== undefined) this.#read(this.#rest)
  }
}

function busy(): GatewayError {
  return new GatewayError(
    'ERR_GW_INVALID_REQUEST',
    'A response is under way on this connection. Send the next message after its last event, or open another connection.',
  )
}

function onData(this: Carrying, chunk: Buffer): void {
  this[CONNECTION]?.receive(chunk)
}

function onEnd(this: Carrying): void {
  this.destroy()
}

function onClose(this: Carrying): void {
  this[CONNECTION]?.closed()
}

function onDrain(this: Carrying): void {
  this[CONNECTION]?.drained()
}
