/**
 * The listener for clients: the gateway reads plain requests, Node reads all others, and both are answered the same
 * way.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Server } from '../base/node-http.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Api } from '../request/api.ts'
import { bodyIsUnread, wireFault } from '../request/head-rules.ts'
import { serve } from '../request/visit.ts'
import { corsHeaders, preflight } from './cors.ts'
import type { HandedOver } from './handed-over.ts'
import type { PlainExchange } from './http1/exchange.ts'
import { PlainConnections } from './http1/plain-connections.ts'
import { meantBy } from './meant.ts'
import { NodeExchange } from './node-exchange.ts'
import { PreflightLog } from './preflight-log.ts'
import {
  answerTo,
  HEADER_BYTES_MAX,
  lateRefusal,
  rawRefusal,
  refuseRaw,
  unrouted,
} from './raw-refusal.ts'
import { apiOf, SERVED } from './table.ts'
import { TlsEntrance } from './tls-entrance.ts'
import { Sockets } from './websocket/sockets.ts'

/** Above the checked bound, so that Node drops no header silently. */
const NODE_HEADERS_MAX = 2000
const HEADERS_TIMEOUT_MS = 10_000
const BODY_TIMEOUT_MS = 60_000
const SOCKETS_MAX = 20_000

/** `connectionAgeMs`: connections of this age are closed after an answer; 0: never. */
export class ClientServer extends Server {
  readonly #gateway: Gateway
  readonly #preflights: PreflightLog
  readonly #plain: PlainConnections
  readonly #sockets: Sockets
  readonly #entrance: TlsEntrance | undefined

  constructor(gateway: Gateway, connectionAgeMs: number) {
    super({
      insecureHTTPParser: false,
      // `wireFault` requires it: otherwise Node would answer, without id and body.
      requireHostHeader: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: BODY_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
      noDelay: true,
    })
    // Read for each answer, so that a reload applies to connections that are open.
    const get = () => gateway.active.snapshot.keepaliveMs
    Object.defineProperty(this, 'keepAliveTimeout', { get })
    this.maxHeadersCount = NODE_HEADERS_MAX
    this.maxConnections = SOCKETS_MAX
    this.#gateway = gateway
    this.#preflights = new PreflightLog(gateway.clock, gateway.log)
    const { clock, deadlines, random } = gateway
    this.#plain = new PlainConnections(this, {
      clock,
      deadlines,
      random,
      ageMs: connectionAgeMs,
      served: SERVED,
      answer: (exchange, api, receivedAt) => this.#serve(exchange, api, receivedAt),
      refuseLate: (socket) => socket.end(answerTo(lateRefusal(), gateway), () => socket.destroy()),
      brokenBody: (isLate) => (isLate ? lateRefusal() : rawRefusal(undefined)),
    })
    this.#sockets = new Sockets({
      gateway,
      ageMs: connectionAgeMs,
      keepAliveMs: () => this.keepAliveTimeout,
      isListening: () => this.listening,
    })
    this.#entrance = this.#secure()
    const take = (incoming: IncomingMessage, outgoing: ServerResponse) =>
      this.#take(incoming, outgoing)
    // Without listeners for the latter two, Node would answer before the key is checked.
    this.on('request', take).on('checkContinue', take).on('checkExpectation', take)
    const refuse = (error: Error, socket: Duplex) => refuseRaw(error, handedOver(socket), gateway)
    this.on('clientError', refuse)
    // A client that uses the gateway as a forward proxy gets an answer.
    this.on('connect', ({ socket }) => refuse(new Error('CONNECT'), socket))
  }

  /** Whether clients use TLS, fixed at the start. */
  get isSecure(): boolean {
    return this.#entrance !== undefined
  }

  override closeIdleConnections(): void {
    this.#entrance?.close()
    this.#plain.close(false)
    this.#sockets.close(false)
    super.closeIdleConnections()
  }

  override closeAllConnections(): void {
    this.#entrance?.close()
    this.#plain.close(true)
    this.#sockets.close(true)
    super.closeAllConnections()
  }

  #secure(): TlsEntrance | undefined {
    const { tls } = this.#gateway.active.snapshot.section.gateway
    if (tls === undefined) return undefined
    const entrance = new TlsEntrance(this.#gateway, tls, (socket) => this.#plain.open(socket))
    this.removeAllListeners('connection')
    this.on('connection', (socket: Socket) => entrance.take(socket))
    return entrance
  }

  /** A request whose head Node has read. */
  #take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const connection = handedOver(incoming.socket)
    if (connection.isLast) return
    const receivedAt = this.#gateway.clock.now()
    const exchange = new NodeExchange(incoming, outgoing, meantBy(incoming.url ?? ''))
    connection.answering.push(exchange)
    outgoing.on('finish', () => connection.answering.shift())
    const fault = wireFault(exchange, incoming.httpVersion)
    const isPreflight = incoming.method === 'OPTIONS' && fault === undefined
    if (fault !== undefined || (isPreflight && bodyIsUnread(exchange))) exchange.answerLast()
    const handshake = fault === undefined ? this.#sockets.handshakeOf(exchange) : undefined
    const api = handshake ?? apiOf(exchange)
    if (isPreflight) this.#allow(exchange, outgoing, receivedAt)
    else if (fault === undefined) this.#serve(exchange, api, receivedAt)
    else this.#serve(exchange, { ...api, run: () => Promise.reject(fault) }, receivedAt)
  }

  #serve(exchange: PlainExchange | NodeExchange, api: Api, receivedAt: number): void {
    const gateway = this.#gateway
    const headers = this.#opening(exchange, receivedAt)
    const id = gateway.newRequestId()
    void serve({ id, incoming: exchange, outgoing: exchange, receivedAt }, gateway, headers, api)
  }

  /** The first headers of an answer. */
  #opening(exchange: PlainExchange | NodeExchange, receivedAt: number): string[] {
    const { active, draining } = this.#gateway
    const headers = corsHeaders(exchange.header('origin'), active.snapshot.section.gateway.cors)
    if (draining || exchange.isLast || receivedAt >= exchange.endsAt)
      headers.push('connection', 'close')
    return headers
  }

  #allow(exchange: NodeExchange, outgoing: ServerResponse, receivedAt: number): void {
    const requestId = this.#gateway.newRequestId()
    const { cors } = this.#gateway.active.snapshot.section.gateway
    const method = exchange.header('access-control-request-method')
    this.#preflights.note({ requestId, origin: exchange.header('origin'), method, cors })
    const headers = this.#opening(exchange, receivedAt)
    const allowed = preflight(headers, exchange.header('access-control-request-headers'))
    outgoing.writeHead(204, [...headers, ...allowed, ...unrouted(requestId)]).end()
  }
}

/** `#plain` opens every connection of the server. */
function handedOver(socket: Duplex): HandedOver {
  return socket as HandedOver
}
