/**
 * Receives the connections of an HTTP server: serves plain requests itself, and passes every other connection to it.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock, Deadline, Deadlines } from '../../base/clock.ts'
import type { GatewayError } from '../../base/errors.ts'
import { Roster } from '../../base/roster.ts'
import type { Api } from '../../request/api.ts'
import { HandedOver } from '../handed-over.ts'
import type { Served } from '../table.ts'
import { CommonLines } from './answer-text.ts'
import { type ConnectionOwner, PlainConnection } from './connection.ts'
import type { PlainExchange } from './exchange.ts'

export interface PlainConnectionsOptions {
  readonly clock: Clock
  readonly deadlines: Deadlines
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Maximum age of connections, so that new replicas get their share. 0: any age. */
  readonly ageMs: number
  readonly served: readonly Served[]
  answer(exchange: PlainExchange, api: Api, receivedAt: number): void
  refuseLate(socket: Socket): void
  brokenBody(isLate: boolean): GatewayError
}

/** Interval of the check for expired connections. */
const LOOK_MS = 500
/** Connections that opened together must not all return together: up to a fifth more or less. */
const SPREAD = 0.4

type Listener = (socket: Socket) => void

export class PlainConnections implements ConnectionOwner, Deadline {
  due = 0
  seat = -1
  readonly served: readonly Served[]
  readonly #options: PlainConnectionsOptions
  readonly #server: Server
  readonly #listeners: readonly Listener[]
  readonly #connections = new Roster<PlainConnection>()
  readonly #lines = new CommonLines()

  constructor(server: Server, options: PlainConnectionsOptions) {
    this.#server = server
    this.#options = options
    this.served = options.served
    // Listeners of this event take a socket.
    this.#listeners = server.listeners('connection') as Listener[]
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => this.open(socket))
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
    const { ageMs, random, deadlines } = this.#options
    const ends = this.now() + ageMs * (1 + SPREAD * (random() - 0.5))
    const endsAt = ageMs === 0 ? Number.POSITIVE_INFINITY : ends
    this.#connections.add(new PlainConnection(socket, this, endsAt))
    deadlines.add(this)
  }

  now(): number {
    return this.#options.clock.now()
  }

  commonLines(isLast: boolean): string {
    return this.#lines.at(this.#options.clock.wall(), this.keepAliveMs, isLast)
  }

  answer(exchange: PlainExchange, api: Api, now: number): void {
    this.#options.answer(exchange, api, now)
  }

  handOver(connection: PlainConnection, bytes: Buffer, isBehind: boolean): void {
    const { socket, endsAt } = connection
    this.gone(connection)
    connection.release()
    // Node's server takes any duplex stream.
    const taken = new HandedOver(socket, bytes, { endsAt, isBehind }) as Duplex as Socket
    for (const listener of this.#listeners) listener.call(this.#server, taken)
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
