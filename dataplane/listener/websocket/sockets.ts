/** All WebSockets of the client listener: they open at a handshake, send heartbeats, and end with the process. */
import type { Socket } from 'node:net'
import { greet } from '../../apis/socket-greeting.ts'
import type { Deadline } from '../../base/clock.ts'
import { GatewayError } from '../../base/errors.ts'
import { pathOf } from '../../base/path-spelling.ts'
import { Roster } from '../../base/roster.ts'
import { Bodies, processMemory } from '../../body/bodies.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Api, ApiWithSocket } from '../../request/api.ts'
import { serve } from '../../request/visit.ts'
import { asksForSocket, handshakeFault } from '../../websocket/handshake.ts'
import { isAllowedOrigin } from '../cors.ts'
import type { NodeExchange } from '../node-exchange.ts'
import { socketAt } from '../table.ts'
import { SocketConnection, type SocketOwner } from './connection.ts'
import { Greeting } from './greeting.ts'
import type { SocketTurn } from './turn.ts'

/** The age at which OpenAI closes a WebSocket. */
const AGE_MS_MAX = 3_600_000
/** Interval of the check for deadlines. */
const LOOK_MS = 500
/** Connections that opened together must not all return together: up to a fifth more or less. */
const SPREAD = 0.4
/** Extra time for a client's answer to a ping. */
const SILENCE_MARGIN_MS = 1000

interface SocketsOptions {
  readonly gateway: Gateway
  /** Maximum age of connections; 0: unlimited. */
  readonly ageMs: number
  readonly keepAliveMs: () => number
  /** Whether the listener takes connections. */
  readonly isListening: () => boolean
}

export class Sockets implements SocketOwner, Deadline {
  due = 0
  seat = -1
  readonly #options: SocketsOptions
  readonly #connections = new Roster<SocketConnection>()
  /** Stored conversations between messages: they have their own count with the bounds of bodies. */
  readonly #keeping = new Bodies(processMemory())

  constructor(options: SocketsOptions) {
    this.#options = options
  }

  /** The API of a handshake; undefined for every other request. */
  handshakeOf(exchange: NodeExchange): Api | undefined {
    if (exchange.method !== 'GET' || !asksForSocket(exchange)) return undefined
    const api = socketAt(pathOf(exchange.url))
    if (api === undefined) return undefined
    exchange.upgraded = (raw, rest) => this.#open(raw, rest, exchange, api)
    const fault = handshakeFault(exchange) ?? this.#strangerFault(exchange)
    const run = fault === undefined ? greet : () => Promise.reject(fault)
    return { ...api, method: 'GET', run }
  }

  get bytesMax(): number {
    return this.#gatewaySection.max_request_bytes
  }

  get heartbeatMs(): number {
    return this.#gatewaySection.sse.heartbeat_seconds * 1000
  }

  get silenceMs(): number {
    return this.#options.keepAliveMs() + this.heartbeatMs + SILENCE_MARGIN_MS
  }

  get isClosing(): boolean {
    return this.#options.gateway.draining || !this.#options.isListening()
  }

  now(): number {
    return this.#options.gateway.clock.now()
  }

  serve(turn: SocketTurn, { api }: SocketConnection, refusal?: GatewayError): Promise<void> {
    const { gateway } = this.#options
    const call = {
      id: gateway.newRequestId(),
      incoming: turn,
      outgoing: turn,
      receivedAt: this.now(),
    }
    return serve(call, gateway, [], {
      ...api,
      run: refusal === undefined ? turn.run : () => Promise.reject(refusal),
    })
  }

  lastEvent({ api }: SocketConnection): string {
    return api.socket.lastEvent(this.#options.gateway.newRequestId())
  }

  gone(connection: SocketConnection): void {
    this.#connections.remove(connection)
    if (this.#connections.size === 0) this.#options.gateway.deadlines.remove(this)
  }

  expire(now: number): void {
    this.due = now + LOOK_MS
    for (const connection of this.#connections.list()) connection.look(now)
  }

  /** Ends the connections without a running answer, or all. */
  close(isForced: boolean): void {
    for (const connection of this.#connections.list()) {
      if (isForced) connection.socket.destroy()
      else connection.leave()
    }
  }

  get #gatewaySection() {
    return this.#options.gateway.active.snapshot.section.gateway
  }

  /** A page that may not call over HTTP may not use its reader's certificate here either. */
  #strangerFault(exchange: NodeExchange): GatewayError | undefined {
    const origin = exchange.header('origin')
    if (exchange.isQueued)
      return new GatewayError(
        'ERR_GW_INVALID_REQUEST',
        'A WebSocket opens after the answers to earlier requests of its connection.',
      )
    if (origin === undefined || isAllowedOrigin(origin, this.#gatewaySection.cors)) return undefined
    return new GatewayError(
      'ERR_GW_AUTH_SCOPE_DENIED',
      'Pages of this origin may not open a WebSocket here; ask your platform team to add it to cors.allowed_origins.',
    )
  }

  #open(
    socket: Socket,
    rest: Buffer | undefined,
    exchange: NodeExchange,
    api: ApiWithSocket,
  ): void {
    const { gateway, ageMs } = this.#options
    const now = this.now()
    const age = ageMs * (1 + SPREAD * (gateway.random() - 0.5))
    const lastAt = now + AGE_MS_MAX
    const connection = new SocketConnection(
      {
        socket,
        greeting: new Greeting(exchange),
        api,
        dialogue: api.socket.begin(this.#keeping),
        endsAt: ageMs === 0 ? lastAt : Math.min(lastAt, now + age),
        lastAt,
      },
      this,
    )
    this.#connections.add(connection)
    gateway.deadlines.add(this)
    socket.resume()
    if (rest !== undefined) connection.receive(rest)
  }
}
