/** One HTTP exchange with an upstream: its bytes, its clocks, and exactly one end. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Deadline, Deadlines } from '../../base/clock.ts'
import { failureOf } from '../../connection/connection-failures.ts'
import type { PoolController, PoolHandler } from '../../connection/http1/contract.ts'
import { isStale } from '../../connection/stale-connection.ts'
import type { Failure } from '../../wire/provider.ts'

/** The owner of an exchange; `end` or `fail` is called once and is the last call. */
export interface Receiver {
  head(status: number, headers: IncomingHttpHeaders): void
  /** The request is given to a connection. */
  written(): void
  data(chunk: Buffer): void
  end(): void
  fail(failure: Failure): void
  /** The kept connection had been given up before the request came: it is to be sent once more, on a new one. */
  resend(): void
  /** The upstream is no longer busy with it; called once, before or with the last call. */
  released(): void
}

export interface ExchangeClocks {
  /** Milliseconds from sending to `begun()`. */
  readonly firstMs: number
  /** Milliseconds of silence allowed after `begun()`. */
  readonly idleMs: number
  /** Monotonic moment at which everything is over. */
  readonly totalAt: number
}

/** Interim answers before the real one; more are a flood. */
const HINTS_MAX = 32
/** A connection that was given up while it was idle shows it at once; later it is the request that it broke over. */
const STALE_MS = 1000
/**
 * How long an answer is read for its usage alone, once its client has left. With the sweep of the deadlines it is over
 * before a drain ends the process, and within the second in which an upstream is to learn that its client has left.
 */
const REST_MS = 300
/** How long an upstream may keep its connection after its answer was complete. */
const LINGER_MS = 2000

export class Exchange implements PoolHandler, Deadline {
  due: number
  seat = -1
  readonly #receiver: Receiver
  readonly #clocks: ExchangeClocks
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  #controller: PoolController | undefined
  #over = false
  #released = false
  #begun = false
  #paused = false
  #idleMs: number
  #lastByteAt = 0
  #hints = 0
  #resent = false
  #restUntil = Number.POSITIVE_INFINITY
  /** When the request had a connection last. */
  #sentAt: number

  constructor(receiver: Receiver, clocks: ExchangeClocks, clock: Clock, deadlines: Deadlines) {
    this.#receiver = receiver
    this.#clocks = clocks
    this.#clock = clock
    this.#deadlines = deadlines
    this.#idleMs = clocks.idleMs
    this.#sentAt = clock.now()
    this.due = Math.min(this.#sentAt + clocks.firstMs, clocks.totalAt)
    deadlines.add(this)
  }

  /** The answer has begun to be useful, as one in place of a stream never is: now silence and the total are limited alone. */
  begun(): void {
    this.#begun = true
    this.#lastByteAt = this.#clock.now()
    this.#schedule()
  }

  get isOver(): boolean {
    return this.#over
  }

  /** Whether anything useful of the answer has come. */
  get hasBegun(): boolean {
    return this.#begun
  }

  /** The answer is complete though the upstream has not closed it yet. */
  complete(): void {
    this.#idleMs = LINGER_MS
    this.#release()
    // Later bytes are thrown away, so they need not wait for a client that reads slowly.
    if (this.#paused) this.resume()
    else this.#schedule()
  }

  /** No more bytes for now. An upstream that is not listened to is not silent: its clock stands still. */
  pause(): void {
    if (this.#over || this.#released) return
    this.#paused = true
    this.#controller?.pause()
  }

  resume(): void {
    if (this.#over) return
    this.#paused = false
    this.#lastByteAt = this.#clock.now()
    this.#schedule()
    this.#controller?.resume()
  }

  /** The client has left: the rest is read for a short time. Its end is reported as ever. */
  readOn(): void {
    if (this.#over || this.#restUntil !== Number.POSITIVE_INFINITY) return
    this.#restUntil = this.#clock.now() + REST_MS
    if (this.#paused) this.resume()
    this.due = Math.min(this.due, this.#restUntil)
  }

  /** Milliseconds since the request had its connection. */
  get elapsedMs(): number {
    return this.#clock.now() - this.#sentAt
  }

  /** Whether no more is read because the client reads slowly. */
  get isPaused(): boolean {
    return this.#paused
  }

  /** Ends the exchange without telling the receiver: the answer is not needed any more. */
  abort(reason: string): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort(new Error(reason))
  }

  expire(now: number): void {
    if (this.#over) return
    const silent = !this.#paused && now - this.#lastByteAt >= this.#idleMs
    if (this.#begun && now < this.#endsAt && !silent) {
      this.#schedule()
      return
    }
    const why = now >= this.#restUntil ? 'the client left' : 'deadline'
    this.#fail({ class: 'timeout', message: this.#silence(now) })
    this.#controller?.abort(new Error(why))
  }

  onRequestStart(controller: PoolController): void {
    this.#controller = controller
    this.#sentAt = this.#clock.now()
    if (this.#over) controller.abort(new Error('aborted before it was sent'))
    else this.#receiver.written()
  }

  onResponseStart(controller: PoolController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#over) return
    if (status >= 200) {
      // The words of a failure have no longer to come than an answer may be silent.
      if (status >= 300) this.due = Math.min(this.due, this.#clock.now() + this.#idleMs)
      this.#receiver.head(status, headers)
      return
    }
    this.#hints++
    if (this.#hints <= HINTS_MAX) return
    this.#fail({ class: 'malformed', message: 'The upstream sent hints without end.' })
    controller.abort(new Error('hints without end'))
  }

  onResponseData(_: PoolController, chunk: Buffer): void {
    if (this.#over) return
    this.#lastByteAt = this.#clock.now()
    this.#receiver.data(chunk)
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.#finish()
    this.#receiver.end()
  }

  onResponseError(_: PoolController | undefined, error: Error): void {
    if (this.#mayResend(error)) {
      this.#resent = true
      this.#receiver.resend()
      return
    }
    const failure = failureOf(error)
    // The network may say the same of a connection that had taken the request.
    this.#fail(this.#controller === undefined ? failure : { ...failure, isUnreached: false })
  }

  #mayResend(error: Error): boolean {
    if (this.#over || this.#resent || !isStale(error)) return false
    return this.#clock.now() - this.#sentAt < STALE_MS
  }

  get #endsAt(): number {
    return Math.min(this.#clocks.totalAt, this.#restUntil)
  }

  #fail(failure: Failure): void {
    if (this.#over) return
    this.#finish()
    this.#receiver.fail(failure)
  }

  #finish(): void {
    this.#over = true
    this.#deadlines.remove(this)
    this.#release()
  }

  #release(): void {
    if (this.#released) return
    this.#released = true
    this.#receiver.released()
  }

  #schedule(): void {
    const silentAt = this.#paused ? Number.POSITIVE_INFINITY : this.#lastByteAt + this.#idleMs
    this.due = Math.min(silentAt, this.#endsAt)
  }

  #silence(now: number): string {
    if (now >= this.#clocks.totalAt)
      return 'The answer was not complete within the request timeout.'
    if (this.#begun) return `The upstream sent nothing for ${this.#idleMs / 1000} s.`
    return `The upstream gave no answer within ${this.#clocks.firstMs / 1000} s.`
  }
}
