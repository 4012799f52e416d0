/** A client's connection while it carries plain requests: one after the other, until Node's server takes it over. */
import type { Socket } from 'node:net'
import type { GatewayError } from '../../base/errors.ts'
import { type Heavy, heavyWork } from '../../base/heavy-work.ts'
import type { Member } from '../../base/roster.ts'
import { giveBack } from '../../base/spent-bytes.ts'
import { type HeldWrites, turnEnd } from '../../base/turn-end.ts'
import type { LastKey } from '../../call/call.ts'
import type { Api } from '../../request/api.ts'
import { linger } from '../lingering.ts'
import type { Served } from '../table.ts'
import { type Carrier, PlainExchange } from './exchange.ts'
import { recognise } from './plain-head.ts'

/** The owner of the connections. */
export interface ConnectionOwner {
  readonly served: readonly Served[]
  readonly keepAliveMs: number
  /** How long the first request, and the rest of a started one, may take to arrive. */
  readonly headMs: number
  readonly requestMs: number
  /** Whether connections are closed after their answers. */
  readonly isClosing: boolean
  now(): number
  commonLines(isLast: boolean): string
  answer(exchange: PlainExchange, api: Api, now: number): void
  /** Node reads it from now on, including the unread bytes. */
  handOver(connection: PlainConnection, bytes: Buffer, isBehind: boolean): void
  gone(connection: PlainConnection): void
  /** Nothing came in time. */
  refuseLate(socket: Socket): void
  /** The refusal of a body that breaks off or is late. */
  brokenBody(isLate: boolean): GatewayError
}

/** `new` until the first request; then `idle`, `busy`, and `closing` after the last answer. */
type ConnectionState = 'new' | 'idle' | 'busy' | 'closing'

/** Bytes after a request wait for its answer; beyond this many the gateway stops reading. */
const WAITING_BYTES_MAX = 65_536
/** Clients close a little later than `Keep-Alive` allows; the gateway must not close first. */
const KEEP_ALIVE_MARGIN_MS = 1000
const NEVER = Number.POSITIVE_INFINITY

const CONNECTION = Symbol('plain connection')
type Carrying = Socket & { [CONNECTION]?: PlainConnection }

export class PlainConnection implements Member, Carrier, HeldWrites, Heavy {
  seat = -1
  isHeld = false
  lingers = false
  readonly endsAt: number
  readonly socket: Socket
  readonly lastKey: LastKey = { key: '', digest: '' }
  readonly #owner: ConnectionOwner
  #state: ConnectionState = 'new'
  /** When the present wait ends. */
  #dueAt: number
  #exchange: PlainExchange | undefined
  /** The exchange whose answer has ended and waits for its write. */
  #answered: PlainExchange | undefined
  /** Bytes after the request in progress. */
  #waiting: Buffer[] | undefined
  #waitingBytes = 0

  constructor(socket: Carrying, owner: ConnectionOwner, endsAt: number) {
    this.socket = socket
    this.endsAt = endsAt
    this.#owner = owner
    this.#dueAt = owner.now() + owner.headMs
    socket[CONNECTION] = this
    // Shared functions, because closures would cost every idle connection memory.
    socket.on('data', onData)
    socket.on('end', onEnd)
    socket.on('error', onError)
    socket.on('close', onClose)
    socket.on('drain', onDrain)
  }

  get isIdle(): boolean {
    return this.#state === 'idle' && this.#waiting === undefined
  }

  /** Removes its listeners from the socket. */
  release(): void {
    this.#state = 'closing'
    const socket: Carrying = this.socket
    delete socket[CONNECTION]
    socket.off('data', onData)
    socket.off('end', onEnd)
    socket.off('error', onError)
    socket.off('close', onClose)
    socket.off('drain', onDrain)
  }

  commonLines(isLast: boolean): string {
    return this.#owner.commonLines(isLast)
  }

  receive(chunk: Buffer): void {
    const exchange = this.#exchange
    if (this.#state === 'closing') {
      giveBack(chunk)
      return
    }
    if (exchange === undefined && this.#waiting === undefined) {
      this.#judge(chunk, false)
      return
    }
    const taken = exchange?.takesMore ? this.#feed(exchange, chunk) : 0
    if (taken < chunk.length) this.#keep(chunk.subarray(taken))
  }

  /** Further writes are sent at the end of the turn. */
  hold(): void {
    if (this.isHeld) return
    this.isHeld = true
    this.socket.cork()
    turnEnd.hold(this)
  }

  flush(): void {
    this.isHeld = false
    this.socket.uncork()
    const answered = this.#answered
    this.#answered = undefined
    if (answered !== undefined) this.answered(answered)
  }

  answered(exchange: PlainExchange): void {
    if (this.isHeld) {
      this.#answered = exchange
      return
    }
    if (this.socket.writableLength === 0) {
      this.#free(exchange)
      return
    }
    // Called when everything before it has been written.
    this.socket.write('', 'latin1', (error) => error == null && this.#flushed(exchange))
    exchange.turned()
  }

  /** The client sends no more: if its request is whole it has left, as for Node's server. */
  ended(): void {
    const exchange = this.#exchange
    if (exchange?.takesMore) {
      this.broken()
      return
    }
    this.#state = 'closing'
    this.#waiting = undefined
    this.socket.end()
  }

  /** The rest of the body will not arrive. */
  broken(): void {
    this.#exchange?.breakBody(this.#owner.brokenBody(false))
  }

  drained(): void {
    this.#exchange?.drained()
  }

  closed(): void {
    this.#state = 'closing'
    this.#dueAt = NEVER
    this.#waiting = undefined
    this.#owner.gone(this)
    const exchange = this.#exchange
    this.#exchange = undefined
    exchange?.close()
  }

  /** Checks the deadline of the present wait. */
  look(now: number): void {
    if (now < this.#dueAt) return
    this.#dueAt = NEVER
    if (this.#state === 'busy') this.#exchange?.breakBody(this.#owner.brokenBody(true))
    else if (this.#state === 'idle') this.socket.destroy()
    else if (this.#state === 'new') {
      this.#state = 'closing'
      this.#owner.refuseLate(this.socket)
    }
  }

  #feed(exchange: PlainExchange, chunk: Buffer): number {
    const isHeavy = exchange.isLarge
    const began = isHeavy ? performance.now() : 0
    const taken = exchange.feed(chunk)
    if (isHeavy) {
      if (taken === chunk.length) giveBack(chunk)
      heavyWork.spend(performance.now() - began, taken)
    }
    if (!exchange.takesMore) this.#dueAt = NEVER
    else if (isHeavy && heavyWork.mustRest()) {
      this.socket.pause()
      heavyWork.awaitTurn(this)
    }
    return taken
  }

  /** Reads more of a large body. */
  takeTurn(): void {
    if (this.#exchange?.takesMore) this.socket.resume()
  }

  #keep(bytes: Buffer): void {
    this.#waiting ??= []
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.socket.pause()
  }

  /** `isBehind`: they came before the answer to the previous request. */
  #judge(bytes: Buffer, isBehind: boolean): void {
    const head = recognise(bytes, this.#owner.served)
    const served = head === undefined ? undefined : this.#owner.served[head.line]
    if (head === undefined || served === undefined) {
      this.#owner.handOver(this, bytes, isBehind)
      return
    }
    const exchange = new PlainExchange(this, served.api, head)
    const end = exchange.open(bytes, head.bodyAt)
    const now = this.#owner.now()
    this.#exchange = exchange
    this.#state = 'busy'
    this.#dueAt = exchange.takesMore ? now + this.#owner.requestMs : NEVER
    if (end < bytes.length) this.#keep(bytes.subarray(end))
    this.#owner.answer(exchange, served.api, now)
  }

  #flushed(exchange: PlainExchange): void {
    if (this.#exchange !== exchange) return
    exchange.close()
    this.#free(exchange)
  }

  /** Ready for the next request, unless this answer was the last. */
  #free(exchange: PlainExchange): void {
    if (this.#exchange !== exchange) return
    this.#exchange = undefined
    if (exchange.isLast || this.#owner.isClosing || this.#state === 'closing') {
      this.#state = 'closing'
      this.#waiting = undefined
      this.#leave()
      return
    }
    this.#state = 'idle'
    this.#dueAt = this.#owner.now() + this.#owner.keepAliveMs + KEEP_ALIVE_MARGIN_MS
    // Runs later, not while the earlier request is still working.
    if (this.#waiting !== undefined) setImmediate(goOn, this)
  }

  #leave(): void {
    if (this.lingers) {
      this.socket.end()
      linger(this.socket)
      return
    }
    this.socket.destroySoon()
    // A client that cannot send would not see the end.
    this.socket.resume()
  }

  /** Checks the bytes after the last request. */
  goOn(): void {
    const waiting = this.#waiting
    if (this.#state !== 'idle' || waiting === undefined) return
    this.#waiting = undefined
    this.#waitingBytes = 0
    this.socket.resume()
    this.#judge(Buffer.concat(waiting), true)
  }
}

function goOn(connection: PlainConnection): void {
  connection.goOn()
}

function onData(this: Carrying, chunk: Buffer): void {
  this[CONNECTION]?.receive(chunk)
}

function onEnd(this: Carrying): void {
  this[CONNECTION]?.ended()
}

function onError(this: Carrying): void {
  this[CONNECTION]?.broken()
}

function onClose(this: Carrying): void {
  this[CONNECTION]?.closed()
}

function onDrain(this: Carrying): void {
  this[CONNECTION]?.drained()
}
