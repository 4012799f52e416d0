/** A client's connection for Node's HTTP server: bytes arrive in small pieces, so that none takes long to parse. */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { GatewayError } from '../base/errors.ts'
import { type Heavy, heavyWork, LARGE_BYTES } from '../base/heavy-work.ts'
import { giveBack } from '../base/spent-bytes.ts'
import { linger } from './lingering.ts'

/** The parser needs about a millisecond for this many bytes in chunks of one byte. */
const PIECE_BYTES = 4096
/** Time is measured only after this many bytes: most requests have fewer. */
const SMALL_BYTES = 8192
/** An ordinary piece takes less. */
const COSTLY_MS = 0.2

type Done = (error?: Error | null) => void

/** A request whose answer has not been written. */
export interface Answering {
  /** The parser has stopped reading the rest of the request, or later bytes. */
  breakOff(refusal: GatewayError): void
}

export class HandedOver extends Duplex implements Heavy {
  readonly raw: Socket
  /** Monotonic time after which it is closed after an answer. */
  readonly endsAt: number
  /** The next bytes came before the answer to the last request: if they are not a request, they are not refused. */
  isBehind: boolean
  /** The present answer is the last; further bytes are dropped, because they may be part of a refused request. */
  isLast = false
  /** In the order of their requests. */
  readonly answering: Answering[] = []
  /** Read, and not passed to the server yet. */
  #held: Buffer | undefined
  #isWanted = false
  #isGiving = false
  #isResting = false
  #isEnded = false
  #isLingering = false
  /** Bytes since the server's last write. */
  #received = 0
  #isLetGo = false
  readonly #heard = {
    data: (chunk: Buffer) => this.#receive(chunk),
    end: () => {
      this.#isEnded = true
      this.#giveLater()
    },
    error: (error: Error) => this.destroy(error),
    timeout: () => this.emit('timeout'),
    close: () => this.destroy(),
  }

  /** `first` has been read from it. */
  constructor(
    raw: Socket,
    first: Buffer,
    { endsAt, isBehind }: { endsAt: number; isBehind: boolean },
  ) {
    // Text stays text on its way to the socket.
    super({ decodeStrings: false })
    this.raw = raw
    this.endsAt = endsAt
    this.isBehind = isBehind
    if (isBehind) {
      setImmediate(() => {
        this.isBehind = false
      })
    }
    this.#held = first
    raw.pause()
    for (const [event, listener] of Object.entries(this.#heard)) raw.on(event, listener)
  }

  /** Hands the connection to another reader, with the bytes that the server has not read. */
  letGo(): Buffer | undefined {
    const { raw } = this
    const rest = this.#held
    for (const [event, listener] of Object.entries(this.#heard)) raw.off(event, listener)
    raw.setTimeout(0)
    this.#isLetGo = true
    this.destroy()
    return rest
  }

  setTimeout(milliseconds: number): this {
    this.raw.setTimeout(milliseconds)
    return this
  }

  /** Like a socket: ends when everything has been written. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.isLast) this.#linger()
    else if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  /** TLS has no reset; a missing last message also shows the client that data is missing. */
  resetAndDestroy(): this {
    if (this.raw instanceof TLSSocket) this.raw.destroy()
    else this.raw.resetAndDestroy()
    return this
  }

  takeTurn(): void {
    this.#isResting = false
    this.#give()
  }

  override _read(): void {
    this.#isWanted = true
    this.#giveLater()
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#received = 0
    this.raw.write(chunk, encoding, done)
  }

  override _writev(
    chunks: readonly { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: Done,
  ): void {
    this.#received = 0
    const last = chunks.length - 1
    this.raw.cork()
    for (const [index, { chunk, encoding }] of chunks.entries()) {
      if (index === last) this.raw.write(chunk, encoding, done)
      else this.raw.write(chunk, encoding)
    }
    this.raw.uncork()
  }

  override _final(done: Done): void {
    this.raw.end(() => done())
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#held = undefined
    if (!this.#isLetGo) this.raw.destroy()
    done(error)
  }

  #linger(): void {
    if (this.#isLingering) return
    this.#isLingering = true
    linger(this.raw)
  }

  #receive(chunk: Buffer): void {
    if (this.isLast) {
      giveBack(chunk)
      return
    }
    this.#held = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    this.#give()
  }

  /** Node handles a push inside `_read` later, when its time cannot be measured. */
  #giveLater(): void {
    if (!this.#isGiving) process.nextTick(() => this.#give())
  }

  #give(): void {
    if (this.#isGiving || this.#isResting || this.destroyed) return
    this.#isGiving = true
    while (this.#held !== undefined && this.#isWanted && !this.#isResting) this.#giveOne(this.#held)
    this.#isGiving = false
    if (this.#isLetGo) return
    if (this.#held !== undefined) this.raw.pause()
    else if (this.#isEnded) this.push(null)
    else if (this.#isWanted && !this.isLast) this.raw.resume()
  }

  #giveOne(held: Buffer): void {
    const piece = held.length > PIECE_BYTES ? held.subarray(0, PIECE_BYTES) : held
    this.#held = piece === held ? undefined : held.subarray(PIECE_BYTES)
    this.#received += piece.length
    if (this.#received <= SMALL_BYTES) {
      this.#push(piece)
      return
    }
    const began = performance.now()
    this.#push(piece)
    const cost = performance.now() - began
    if (cost < COSTLY_MS && this.#received <= LARGE_BYTES) return
    heavyWork.spend(cost, piece.length)
    if (!heavyWork.mustRest()) return
    this.#isResting = true
    heavyWork.awaitTurn(this)
  }

  #push(piece: Buffer): void {
    if (!this.isLast) this.#isWanted = this.push(piece)
  }
}
