/** One connection to an upstream: carries one request after the other, never two at once. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { heavyWork } from '../../base/heavy-work.ts'
import { type HeldWrites, turnEnd } from '../../base/turn-end.ts'
import { writeJoined } from '../../http1/joined-write.ts'
import { markStale } from '../stale-connection.ts'
import type { AnswerHead } from './answer-head.ts'
import { AnswerReader, type AnswerSink } from './answer-reader.ts'
import type { PoolController, PoolHandler, PoolRequest } from './contract.ts'
import type { SharedReads } from './shared-reads.ts'
import { cut, refusedByProxy, WireError } from './wire-error.ts'

/** The owner of the connections, called each time one is free, and once when it has ended. */
export interface ConnectionOwner {
  /** Whether a proxy forwards the requests, and may refuse them by itself. */
  readonly isForwarded: boolean
  freed(connection: Connection, keepAliveMs: number | undefined): void
  gone(connection: Connection): void
}

const NOTHING = Buffer.alloc(0)
const PROXY_AUTHENTICATION = 407
/** A piece this long may take much time to read. */
const COSTLY_BYTES_MIN = 8_192
/** A piece that takes this long is heavy work. */
const COSTLY_MS = 2
/** A piece this long belongs to a large answer or a fast upstream, not to a stream of tokens. */
const FLOOD_BYTES_MIN = 32_768

export class Connection implements AnswerSink, PoolController, HeldWrites {
  /** Monotonic time after which the connection is too old for use; written by its owner. */
  usableUntil = 0
  /** Monotonic time at which the connection ends in any case, and its most answers; written by its owner. */
  endsAt = Number.POSITIVE_INFINITY
  answersMax = Number.POSITIVE_INFINITY
  /** Answers it has carried. */
  answers = 0
  readonly #socket: Socket
  readonly #owner: ConnectionOwner
  /** False with TLS: an encrypted write ends a turn later, so a held one would end after its answer. */
  readonly #holds: boolean
  readonly #reader = new AnswerReader(this)
  #handler: PoolHandler | undefined
  #head: AnswerHead | undefined
  /** Whether the request was written to the system, as far as the system accepts it. */
  #isWritten = false
  #paused = false
  /** Whether reading pauses because the last piece took long. */
  #isResting = false
  #reading = false
  /** Unread bytes from before a pause. */
  #held: Buffer | undefined
  #ended = false
  #isGone = false

  /** `reads`: the shared buffer, if the socket reads into it and emits no data. */
  constructor(socket: Socket, owner: ConnectionOwner, reads?: SharedReads) {
    this.#socket = socket
    this.#owner = owner
    this.#holds = !(socket instanceof TLSSocket)
    const receive = (chunk: Buffer) => this.#receive(chunk)
    if (reads === undefined) socket.on('data', receive)
    else reads.take = receive
    socket.on('end', () => this.#end())
    socket.on('error', (error) => this.#break(error))
    socket.on('close', () => this.#break(cut()))
    // An idle connection must not keep the process alive.
    socket.unref()
  }

  get stopped(): boolean {
    return this.#paused || this.#handler === undefined
  }

  get joins(): boolean {
    return this.#handler?.hasBegun === true
  }

  /** `head` is everything before the body, its empty line included. */
  send(
    head: string,
    { body, rest }: Pick<PoolRequest, 'body' | 'rest'>,
    handler: PoolHandler,
  ): void {
    this.#handler = handler
    this.#head = undefined
    this.#isWritten = false
    this.#reader.begin()
    handler.onRequestStart(this)
    // The request may have been aborted by then, before any write.
    if (this.#handler === undefined) return
    // Head and body in one write, whether now or at the end of the turn.
    this.#socket.cork()
    writeJoined(this.#socket, head, body)
    if (rest !== undefined) for (const one of rest) this.#socket.write(one)
    if (this.#holds) turnEnd.hold(this)
    else this.flush()
  }

  flush(): void {
    this.#isWritten = true
    this.#socket.uncork()
  }

  abort(reason: Error): void {
    this.#break(reason)
  }

  pause(): void {
    if (this.#paused || this.#handler === undefined) return
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    // Within a call of the reader, reading continues afterwards.
    if (!this.#reading) {
      const held = this.#held ?? NOTHING
      this.#held = undefined
      this.#read(held)
    }
    if (!this.#paused && !this.#isResting) this.#socket.resume()
    if (this.#ended) this.#end()
  }

  destroy(reason: Error): void {
    this.#break(reason)
  }

  onHead(head: AnswerHead): void {
    this.#head = head
    if (head.status === PROXY_AUTHENTICATION && this.#owner.isForwarded)
      throw refusedByProxy(head.status)
    this.#handler?.onResponseStart(this, head.status, head.headers)
  }

  onData(chunk: Buffer): void {
    this.#handler?.onResponseData(this, chunk)
  }

  #receive(chunk: Buffer): void {
    if (this.#handler === undefined || !this.#isWritten) {
      // No request is running, or none of its bytes was sent, so these bytes are not its answer.
      this.#break(cut())
      return
    }
    if (this.#paused)
      this.#held = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    else if (chunk.length < COSTLY_BYTES_MIN) this.#read(chunk)
    else this.#readAtLength(chunk)
  }

  /** A piece may take a hundred times as long as usual, so other connections are served before the next one. */
  #readAtLength(chunk: Buffer): void {
    const began = performance.now()
    this.#read(chunk)
    const cost = performance.now() - began
    if (cost < COSTLY_MS && chunk.length < FLOOD_BYTES_MIN) return
    heavyWork.spend(cost, chunk.length)
    if (this.#handler === undefined) return
    this.#isResting = true
    this.#socket.pause()
    heavyWork.rest(cost, () => this.#rested())
  }

  #rested(): void {
    this.#isResting = false
    if (!this.#paused && !this.#isGone) this.#socket.resume()
  }

  #read(chunk: Buffer): void {
    this.#reading = true
    try {
      const at = this.#reader.read(chunk, 0)
      if (this.#handler === undefined) return
      if (this.#reader.complete) this.#complete(at < chunk.length)
      else if (at < chunk.length) this.#held = chunk.subarray(at)
    } catch (error) {
      // Only errors are thrown here and by handlers.
      this.#break(error as Error)
    } finally {
      this.#reading = false
    }
  }

  /** The other side sends no more bytes. */
  #end(): void {
    this.#ended = true
    if (this.#isGone || this.#paused) return
    if (this.#handler === undefined) {
      this.#break(cut())
      return
    }
    try {
      this.#reader.finish()
    } catch (error) {
      // Ends through the socket, because the handshake's listener may have a better reason.
      this.#socket.destroy(error as Error)
      return
    }
    this.#complete(false)
  }

  /** The connection is free again, unless its state is uncertain: surplus bytes, or an answer before the request was read. */
  #complete(isOverfull: boolean): void {
    const handler = this.#handler
    this.#handler = undefined
    this.#paused = false
    this.#held = undefined
    this.answers++
    const isReady = !this.#ended && !this.#isResting
    const keeps = this.#head?.keepAlive === true && !isOverfull && isReady
    if (keeps && this.#socket.writableLength === 0) this.#owner.freed(this, this.#head?.keepAliveMs)
    else this.#leave()
    handler?.onResponseEnd()
  }

  #break(error: Error): void {
    const handler = this.#handler
    this.#handler = undefined
    // An interim answer shows that the request was read.
    const isKept = this.answers > 0 && this.#head === undefined && !this.#reader.begun
    this.#leave()
    if (handler === undefined) return
    if (isKept && isClosed(error)) markStale(error)
    handler.onResponseError(this, error)
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#socket.destroy()
    this.#owner.gone(this)
  }
}

/** The other side, or the network, ended the connection: not a mistake in what it sent. */
function isClosed(error: Error & { code?: string }): boolean {
  return !(error instanceof WireError) || error.code === 'UND_ERR_SOCKET'
}
