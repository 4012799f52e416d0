/** One HTTP exchange with an upstream: its bytes, its clocks, and exactly one end. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock, Deadline, Deadlines } from '../../base/clock.ts'
import { failureOf } from '../../connection/connection-failures.ts'
import type { PoolController, PoolHandler } from '../../connection/http1/contract.ts'
import { isStale } from '../../connection/stale-connection.ts'
import type { Failure } from '../../wire/provider.ts'

/** The receiver of an exchange. `end` or `fail` is called once, as the last call. */
export interface Receiver {
  head(status: number, headers: IncomingHttpHeaders): void
  /** Called when a connection takes the request. */
  written(): void
  data(chunk: Buffer): void
  end(): void
  fail(failure: Failure): void
  /** Called if the kept connection was closed before the request arrived, so that the request must be sent again on a new one. */
  resend(): void
  /** Called once when the upstream is no longer busy with the request, before or with the last call. */
  released(): void
}

export interface ExchangeClocks {
  /** Milliseconds from sending to `begun()`. */
  readonly firstMs: number
  /** Milliseconds of silence allowed after `begun()`. */
  readonly idleMs: number
  /** Monotonic deadline of the whole exchange. */
  readonly totalAt: number
}

/** Most interim answers before the final one. */
const HINTS_MAX = 32
/** A connection that was closed while idle fails within this time; a later failure is due to the request. */
const STALE_MS = 1000
/**
 * How long an answer is read only for its usage after its client has left. Short enough to end before a drain ends the
 * process, and to tell the upstream within a second that the client has left.
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
  /** When the request last got a connection. */
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

  /** Notes that the stream has content. From now on only silence and the total time are limited. */
  begun(): void {
    this.#begun = true
    this.#lastByteAt = this.#clock.now()
    this.#schedule()
  }

  get isOver(): boolean {
    return this.#over
  }

  /** Whether content of the answer has arrived. */
  get hasBegun(): boolean {
    return this.#begun
  }

  /** Notes that the answer is complete, although the upstream has not closed it yet. */
  complete(): void {
    this.#idleMs = LINGER_MS
    this.#release()
    // Later bytes are dropped, so they need not wait for a slow client.
    if (this.#paused) this.resume()
    else this.#schedule()
  }

  /** Stops reading for now, and stops the clock of silence. */
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

  /** Notes that the client has left: the rest is read for a short time, and its end is reported as usual. */
  readOn(): void {
    if (this.#over || this.#restUntil !== Number.POSITIVE_INFINITY) return
    this.#restUntil = this.#clock.now() + REST_MS
    if (this.#paused) this.resume()
    this.due = Math.min(this.due, this.#restUntil)
  }

  /** Milliseconds since the request got its connection. */
  get elapsedMs(): number {
    return this.#clock.now() - this.#sentAt
  }

  /** Whether reading is paused because the client reads slowly. */
  get isPaused(): boolean {
    return this.#paused
  }

  /** Ends the exchange without a call to the receiver, because the answer is not needed. */
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
      // The body of a failure may take only the allowed time of silence.
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
    // The network may report the same error for a connection that had received the request.
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
    return `The upstream sent no answer within ${this.#clocks.firstMs / 1000} s.`
  }
}
