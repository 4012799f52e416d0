/** An upstream's stream between its first byte and its one end: held until it may be committed to, then flowing. */
import type { Failure, Framer, Framing } from '../providers/contract.ts'
import type { Exchange } from '../upstream/attempt/exchange.ts'
import { Gathering } from './gathering.ts'
import type { Tap } from './tap.ts'

/** Where the bytes go once the answer is committed to this upstream. */
export interface Sink {
  /** false: no more until the sink has drained. */
  write(bytes: Buffer): boolean
  /** The last call. Without a failure the stream was complete. */
  finish(failure: Failure | undefined): void
}

/** A stream that has begun, as the relay sees it. */
export interface OpenedStream {
  /** Commits: what was held goes out, the rest follows as it comes. */
  flowTo(sink: Sink): void
  /** More may be written. */
  drained(): void
  abort(reason: string): void
}

/** The owner of the stream; each method is called once. */
export interface Listener {
  /** With the first content, or with the failure that came before it. */
  opened(failure: Failure | undefined): void
  /** The upstream's part is over: completely, or by the failure that cut it. */
  ended(failure: Failure | undefined): void
}

/** Bytes held before the first content; more than this is no prelude of an answer. */
const HELD_BYTES_MAX = 1_048_576

export class UpstreamStream implements OpenedStream {
  readonly #framing: Framing
  readonly #framer: Framer
  readonly #tap: Tap
  readonly #exchange: Exchange
  readonly #listener: Listener
  readonly #held = new Gathering()
  #sink: Sink | undefined
  #open = false
  #ended: { failure: Failure | undefined } | undefined

  constructor(tap: Tap, framing: Framing, exchange: Exchange, listener: Listener) {
    this.#framing = framing
    this.#framer = framing.open()
    this.#tap = tap
    this.#exchange = exchange
    this.#listener = listener
  }

  data(chunk: Buffer): void {
    if (this.#ended !== undefined) return
    const events = this.#framer.push(chunk)
    if (events !== undefined) this.#take(events)
  }

  end(): void {
    if (this.#ended !== undefined) return
    const rest = this.#framer.rest()
    const { closing } = this.#framing
    if (rest.length > 0 && closing !== undefined) this.#take(Buffer.concat([rest, closing]))
    this.#finish(this.#complete() ? undefined : CUT)
  }

  fail(failure: Failure): void {
    // Some runtimes reset the connection behind a complete answer.
    this.#finish(this.#complete() ? undefined : failure)
  }

  flowTo(sink: Sink): void {
    this.#sink = sink
    if (this.#held.length > 0) this.#write(this.#held.take())
    if (this.#ended !== undefined) sink.finish(this.#ended.failure)
  }

  drained(): void {
    this.#exchange.resume()
  }

  abort(reason: string): void {
    this.#ended ??= { failure: undefined }
    this.#exchange.abort(reason)
  }

  #take(events: Buffer): void {
    const shown = this.#tap.take(events)
    this.#emit(shown)
    const { failure, done } = this.#tap
    if (!this.#open && failure === undefined && this.#begun()) this.#begin()
    if (failure !== undefined) {
      this.#exchange.abort('the upstream reported an error')
      this.#finish(failure)
    } else if (done) {
      this.#exchange.complete()
      this.#finish(undefined)
    }
  }

  #begun(): boolean {
    return this.#tap.content || this.#complete()
  }

  #begin(): void {
    this.#open = true
    this.#exchange.begun()
    this.#listener.opened(undefined)
  }

  #complete(): boolean {
    return this.#tap.finished || this.#tap.done
  }

  #emit(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#sink !== undefined) {
      this.#write(bytes)
      return
    }
    this.#held.add(bytes)
    if (this.#open || this.#held.length <= HELD_BYTES_MAX) return
    this.#exchange.abort('too much before the first content')
    this.#finish({ class: 'malformed', message: 'The upstream sent 1 MiB without any content.' })
  }

  #write(bytes: Buffer): void {
    if (this.#sink?.write(bytes) === false) this.#exchange.pause()
  }

  #finish(failure: Failure | undefined): void {
    if (this.#ended !== undefined) return
    this.#ended = { failure }
    if (!this.#open) {
      this.#open = true
      this.#listener.opened(failure)
    }
    if (failure === undefined) this.#emit(this.#tap.end())
    this.#listener.ended(failure)
    this.#sink?.finish(failure)
  }
}

const CUT: Failure = {
  class: 'reset',
  message: 'The upstream closed the stream before its end.',
}
