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

/** The owner of the connections. It hears each time one gets free, and once when it is gone. */
export interface Keeper {
  /** Whether a proxy forwards the requests, and may refuse them by itself. */
  readonly isForwarded: boolean
  freed(connection: Connection, keepAliveMs: number | undefined): void
  gone(connection: Connection): void
}

const NOTHING = Buffer.alloc(0)
const PROXY_AUTHENTICATION = 407
/** A piece this long may take much time to read, by what is in it. */
const COSTLY_BYTES_MIN = 8_192
/** A piece that takes this long is heavy work. */
const COSTLY_MS = 2
/** So much at once is a large answer, or an upstream that sends as fast as it is read; a stream of tokens is neither. */
const FLOOD_BYTES_MIN = 32_768

export class Connection implements AnswerSink, PoolController, HeldWrites {
  /** Monotonic moment from which on it is too old to be used; its keeper's to write. */
  usableUntil = 0
  /** Monotonic moment at which it ends in any case, and the answers it may carry; its keeper's to write too. */
  endsAt = Number.POSITIVE_INFINITY
  answersMax = Number.POSITIVE_INFINITY
  /** Answers it has carried. */
  answers = 0
  readonly #socket: Socket
  readonly #keeper: Keeper
  /** An encrypted write ends a turn later: one that is held until the end of the turn would end after its answer. */
  readonly #holds: boolean
  readonly #reader = new AnswerReader(this)
  #handler: PoolHandler | undefined
  #head: AnswerHead | undefined
  /** Whether the request has been given to the system, as far as that takes it. */
  #isWritten = false
  #paused = false
  /** Nothing is read for a moment: the last piece took long. */
  #isResting = false
  #reading = false
  /** Bytes that came before a pause and have not been read. */
  #held: Buffer | undefined
  #ended = false
  #isGone = false

  /** `reads` are the socket's where it emits no data. */
  constructor(socket: Socket, keeper: Keeper, reads?: SharedReads) {
    this.#socket = socket
    this.#keeper = keeper
    this.#holds = !(socket instanceof TLSSocket)
    const receive = (chunk: Buffer) => this.#receive(chunk)
    if (reads === undefined) socket.on('data', receive)
    else reads.take = receive
    socket.on('end', () => this.#end())
    socket.on('error', (error) => this.#break(error))
    socket.on('close', () => this.#break(cut()))
    // The process lives by its listeners; an idle connection must not keep it.
    socket.unref()
  }

  get stopped(): boolean {
    return this.#paused || this.#handler === undefined
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
    // It may have been aborted by then, and nothing has been written.
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
    // Inside of a call of the reader it goes on by itself.
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
    if (head.status === PROXY_AUTHENTICATION && this.#keeper.isForwarded)
      throw refusedByProxy(head.status)
    this.#handler?.onResponseStart(this, head.status, head.headers)
  }

  onData(chunk: Buffer): void {
    this.#handler?.onResponseData(this, chunk)
  }

  #receive(chunk: Buffer): void {
    if (this.#handler === undefined || !this.#isWritten) {
      // No request is under way, or no byte of it has left: these bytes would be read as its answer.
      this.#break(cut())
      return
    }
    if (this.#paused)
      this.#held = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    else if (chunk.length < COSTLY_BYTES_MIN) this.#read(chunk)
    else this.#readAtLength(chunk)
  }

  /** A piece may take a hundred times as long as usual, by what is in it. Other connections are served before the next one. */
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

  /** The other side sends no more. */
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
      // By way of the socket, where the watch on its handshake may know a better reason.
      this.#socket.destroy(error as Error)
      return
    }
    this.#complete(false)
  }

  /** Free again, unless its state could be misread: by bytes too many, or by a request that was answered before it was read. */
  #complete(isOverfull: boolean): void {
    const handler = this.#handler
    this.#handler = undefined
    this.#paused = false
    this.#held = undefined
    this.answers++
    const isReady = !this.#ended && !this.#isResting
    const keeps = this.#head?.keepAlive === true && !isOverfull && isReady
    if (keeps && this.#socket.writableLength === 0)
      this.#keeper.freed(this, this.#head?.keepAliveMs)
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
    this.#keeper.gone(this)
  }
}

/** The other side, or the network, ended the connection: not a mistake in what it sent. */
function isClosed(error: Error & { code?: string }): boolean {
  return !(error instanceof WireError) || error.code === 'UND_ERR_SOCKET'
}
