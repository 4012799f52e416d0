/** Receives the connections of an HTTP server: plain requests are served here, every other connection is handed on to it. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Api } from '../../apis/contract.ts'
import type { Clock, Deadline, Deadlines } from '../../base/clock.ts'
import type { GatewayError } from '../../base/errors.ts'
import { Roster } from '../../base/roster.ts'
import { HandedOver } from '../handed-over.ts'
import { markBehind } from '../raw-refusal.ts'
import { CommonLines } from './answer-text.ts'
import { type Keeper, PlainConnection, type Served } from './connection.ts'
import type { PlainExchange } from './exchange.ts'

export interface DoorOptions {
  readonly clock: Clock
  readonly deadlines: Deadlines
  /** Served by the exact path. */
  readonly apis: readonly Api[]
  /** Called with the API's place among them. */
  answer(exchange: PlainExchange, api: number, receivedAt: number): void
  refuseLate(socket: Socket): void
  brokenBody(isLate: boolean): GatewayError
}

/** How often it is looked whose time is up. */
const LOOK_MS = 500

type Listener = (socket: Socket) => void

class Door implements Keeper, Deadline {
  due = 0
  seat = -1
  readonly served: readonly Served[]
  readonly #options: DoorOptions
  readonly #server: Server
  readonly #listeners: readonly Listener[]
  readonly #connections = new Roster<PlainConnection>()
  readonly #lines = new CommonLines()

  constructor(server: Server, options: DoorOptions) {
    this.#server = server
    this.#options = options
    // Listeners of this event take a socket.
    this.#listeners = server.listeners('connection') as Listener[]
    this.served = options.apis.map(({ method, path }) => ({
      method,
      path,
      text: `${method} ${path} HTTP/1.1\r\n`,
      hasBody: method === 'POST',
    }))
  }

  get keepAliveMs(): number {
    return this.#server.keepAliveTimeout
  }

  get headMs(): number {
    return this.#server.headersTimeout
  }

  get requestMs(): number {
    return this.#server.requestTimeout
  }

  get isClosing(): boolean {
    return !this.#server.listening
  }

  open(socket: Socket): void {
    this.#connections.add(new PlainConnection(socket, this))
    this.#options.deadlines.add(this)
  }

  now(): number {
    return this.#options.clock.now()
  }

  commonLines(isLast: boolean): string {
    return this.#lines.at(this.#options.clock.wall(), this.keepAliveMs, isLast)
  }

  answer(exchange: PlainExchange, line: number, now: number): void {
    this.#options.answer(exchange, line, now)
  }

  handOver(connection: PlainConnection, bytes: Buffer, isBehind: boolean): void {
    const { socket } = connection
    this.gone(connection)
    connection.release()
    // Node's server takes any duplex stream.
    const taken = new HandedOver(socket, bytes) as Duplex as Socket
    for (const listener of this.#listeners) listener.call(this.#server, taken)
    if (isBehind) markBehind(taken)
  }

  gone(connection: PlainConnection): void {
    this.#connections.remove(connection)
    if (this.#connections.size === 0) this.#options.deadlines.remove(this)
  }

  refuseLate(socket: Socket): void {
    this.#options.refuseLate(socket)
  }

  brokenBody(isLate: boolean): GatewayError {
    return this.#options.brokenBody(isLate)
  }

  expire(now: number): void {
    this.due = now + LOOK_MS
    for (const connection of this.#connections.list()) connection.look(now)
  }

  close(isForced: boolean): void {
    for (const connection of this.#connections.list()) {
      if (isForced || connection.isIdle) connection.socket.destroy()
    }
  }
}

/** From now on the server's methods that close connections close those of the door, too. */
export function takeOver(server: Server, options: DoorOptions): void {
  const door = new Door(server, options)
  const closeIdle = server.closeIdleConnections.bind(server)
  const closeAll = server.closeAllConnections.bind(server)
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => door.open(socket))
  server.closeIdleConnections = () => {
    door.close(false)
    closeIdle()
  }
  server.closeAllConnections = () => {
    door.close(true)
    closeAll()
  }
}
