/** Connections to one upstream over HTTP/1.1: limited in number, kept while fresh, one request at a time on each. */
import type { Socket } from 'node:net'
import { Connection, type ConnectionOwner } from './connection.ts'
import type { PoolHandler, PoolRequest, RequestPool } from './contract.ts'
import { type Forwarding, RequestHead } from './request-head.ts'
import type { SharedReads } from './shared-reads.ts'
import { WireError } from './wire-error.ts'

/** `reads`: the shared buffer, if the socket reads into it and emits no data. */
export type Connect = (
  callback: (error: Error | null, socket: Socket | null, reads?: SharedReads) => void,
) => void

export interface PoolOptions {
  readonly connect: Connect
  /** `host[:port]` for the Host header. */
  readonly host: string
  /** Set where connections lead to a proxy that forwards requests. */
  readonly proxy?: Forwarding | undefined
  /** Connections at most. */
  readonly connections: number
  /** Default and longest time that an idle connection is kept. */
  readonly idleMs: number
  readonly idleMsMax: number
  /** Answers that one connection may carry, and how long it may live, at most. */
  readonly requestsMax: number
  readonly ageMsMax: number
  /** Uniform in [0, 1). */
  readonly random: () => number
}

/** Safety margin before the keep-alive time of an upstream. */
const HINT_MARGIN_MS = 2000
const SWEEP_MS = 1000
/** Most requests that may wait for a connection, if connections are limited. */
const WAITING_MAX = 4096
/** Connections end up to a fifth earlier, so that those made together do not end together. */
const SPREAD = 0.2

interface QueuedRequest {
  readonly request: PoolRequest
  readonly handler: PoolHandler
}

export class Http1Pool implements RequestPool, ConnectionOwner {
  readonly #options: PoolOptions
  readonly #head: RequestHead
  readonly #all = new Set<Connection>()
  /** The last used connection is used first, so that the others can expire. */
  readonly #idle: Connection[] = []
  readonly #waiting: QueuedRequest[] = []
  /** Connections being made. */
  #opening = 0
  #closed = false
  #destroyed = false
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#head = new RequestHead(options.host, options.proxy)
  }

  dispatch(request: PoolRequest, handler: PoolHandler): void {
    if (this.#destroyed) {
      handler.onResponseError(undefined, destroyed())
      return
    }
    const kept = this.#takeIdle()
    if (kept !== undefined) this.#send(kept, request, handler)
    else if (this.#all.size + this.#opening < this.#options.connections)
      this.#open(request, handler)
    else this.#wait({ request, handler })
  }

  #wait(waiting: QueuedRequest): void {
    if (this.#waiting.length >= WAITING_MAX) this.#dropWaiting()
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(waiting)
    else waiting.handler.onResponseError(undefined, noConnection())
  }

  /** Drops waiting requests that were aborted. */
  #dropWaiting(): void {
    const wanted = this.#waiting.filter(({ handler }) => !handler.isOver)
    this.#waiting.splice(0, this.#waiting.length, ...wanted)
  }

  get isForwarded(): boolean {
    return this.#options.proxy !== undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const connection of this.#idle.splice(0)) connection.destroy(destroyed())
  }

  async destroy(): Promise<void> {
    this.#closed = true
    this.#destroyed = true
    clearInterval(this.#sweeper)
    for (const connection of [...this.#all]) connection.destroy(destroyed())
    for (const { handler } of this.#waiting.splice(0))
      handler.onResponseError(undefined, destroyed())
  }

  freed(connection: Connection, keepAliveMs: number | undefined): void {
    const { idleMs, idleMsMax } = this.#options
    const keptMs =
      keepAliveMs === undefined ? idleMs : Math.min(keepAliveMs - HINT_MARGIN_MS, idleMsMax)
    const now = performance.now()
    connection.usableUntil = Math.min(now + keptMs, connection.endsAt)
    const isSpent = connection.answers >= connection.answersMax
    if (connection.usableUntil <= now || isSpent || (this.#closed && this.#waiting.length === 0)) {
      connection.destroy(destroyed())
      return
    }
    this.#keep(connection)
  }

  #keep(connection: Connection): void {
    this.#idle.push(connection)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    this.#serveWaiting()
  }

  gone(connection: Connection): void {
    this.#all.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index !== -1) this.#idle.splice(index, 1)
    this.#serveWaiting()
  }

  #takeIdle(): Connection | undefined {
    const connection = this.#idle.pop()
    if (connection === undefined || performance.now() < connection.usableUntil) return connection
    // The connections below are older, or have less keep-alive time.
    connection.destroy(destroyed())
    return this.#takeIdle()
  }

  #send(connection: Connection, request: PoolRequest, handler: PoolHandler): void {
    let head: string
    try {
      head = this.#head.of(request)
    } catch (error) {
      // The connection has not been touched.
      this.#idle.push(connection)
      handler.onResponseError(undefined, error as Error)
      return
    }
    connection.send(head, request, handler)
  }

  #open(request: PoolRequest, handler: PoolHandler): void {
    this.#opening++
    this.#options.connect((error, socket, reads) => {
      this.#opening--
      if (socket === null || this.#destroyed) {
        socket?.destroy()
        handler.onResponseError(undefined, error ?? destroyed())
        this.#serveWaiting()
        return
      }
      const connection = new Connection(socket, this, reads)
      this.#all.add(connection)
      this.#limit(connection)
      if (handler.isOver) this.#keep(connection)
      else this.#send(connection, request, handler)
    })
  }

  /** Limits the life of a connection, so that faults of its state end. */
  #limit(connection: Connection): void {
    const { idleMs, requestsMax, ageMsMax, random } = this.#options
    const part = 1 - SPREAD * random()
    const now = performance.now()
    connection.usableUntil = now + idleMs
    connection.endsAt = now + ageMsMax * part
    connection.answersMax = Math.ceil(requestsMax * part)
  }

  /** Runs a turn later, so that a connection that the upstream closes after the answer is detected. */
  #serveWaiting(): void {
    if (this.#waiting.length === 0) return
    setImmediate(() => {
      let next = this.#waiting.shift()
      while (next?.handler.isOver) next = this.#waiting.shift()
      if (next !== undefined) this.dispatch(next.request, next.handler)
    })
  }

  #sweep(): void {
    const now = performance.now()
    for (const connection of this.#idle.filter(({ usableUntil }) => usableUntil <= now)) {
      connection.destroy(destroyed())
    }
    if (this.#idle.length > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }
}

function noConnection(): WireError {
  return new WireError('ERR_GW_NO_CONNECTION', 'Too many requests wait for a connection.')
}

function destroyed(): WireError {
  return new WireError('UND_ERR_DESTROYED', 'The connection is closed.')
}
