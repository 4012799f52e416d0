/** An upstream's stream: held until it has content, then passed on until its end. */
import { Gathered } from '../../base/gathered.ts'
import { AnswerTooLarge } from '../../base/kept-text.ts'
import type { Failure, Framer, Framing } from '../../wire/provider.ts'
import type { Exchange } from '../attempt/exchange.ts'
import type { Breakage, Listener, OpenedStream, Sink } from './opened-stream.ts'
import type { Tap } from './tap.ts'

/** Most bytes that are read after the client has left: the content of buffers, and the end of the answer. */
const REST_BYTES_MAX = 4_194_304
/** Most bytes that are held before the first content. */
const HELD_BYTES_MAX = 1_048_576

export class UpstreamStream implements OpenedStream {
  readonly #framing: Framing
  readonly #framer: Framer
  readonly #tap: Tap
  readonly #exchange: Exchange
  readonly #listener: Listener
  readonly #held = new Gathered({ ownsPieces: true })
  #sink: Sink | undefined
  #open = false
  /** The upstream's part has ended; later bytes do not belong to the answer. */
  #isOver = false
  #ended: { failure: Breakage | undefined } | undefined
  #isFull = false
  /** Steps that wait while an inspector works. */
  #later: (() => void)[] | undefined
  /** Called after the rest was read for a client that has left. */
  #over: (() => void) | undefined
  #restBytes = 0

  constructor(tap: Tap, framing: Framing, exchange: Exchange, listener: Listener) {
    this.#framing = framing
    this.#framer = framing.open()
    this.#tap = tap
    this.#exchange = exchange
    this.#listener = listener
  }

  get brokenEvents(): number {
    return this.#tap.brokenEvents
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#later !== undefined) {
      this.#later.push(() => this.data(chunk))
      return
    }
    const events = this.#framer.push(chunk)
    if (events !== undefined) this.#take(events)
  }

  end(): void {
    if (this.#isOver) return
    if (this.#later !== undefined) {
      this.#later.push(() => this.end())
      return
    }
    const rest = this.#framer.rest()
    const { closing } = this.#framing
    if (rest.length > 0 && closing !== undefined) this.#take(Buffer.concat([rest, closing]))
    this.#endOfBody()
  }

  #endOfBody(): void {
    if (this.#later !== undefined) {
      this.#later.push(() => this.#endOfBody())
      return
    }
    const { endOfBody } = this.#framing
    if (endOfBody !== undefined && !this.#isOver) this.#take(endOfBody)
    this.fail(CUT)
  }

  fail(failure: Failure): void {
    if (this.#later === undefined) {
      // Some runtimes reset the connection after a complete answer.
      this.#finish(this.#complete() ? undefined : (this.#tap.pending ?? failure))
    } else this.#later.push(() => this.fail(failure))
  }

  flowTo(sink: Sink): void {
    this.#sink = sink
    const wasHeld = this.#isFull
    this.#isFull = false
    if (this.#held.length > 0) this.#write(this.#held.take())
    if (wasHeld && !this.#isFull) this.drained()
    if (this.#ended !== undefined) sink.finish(this.#ended.failure)
  }

  hold(): void {
    this.#isFull = true
    this.#exchange.pause()
  }

  drained(): void {
    this.#isFull = false
    if (this.#later === undefined) this.#exchange.resume()
  }

  abort(reason: string): void {
    this.#isOver = true
    this.#ended ??= { failure: undefined }
    this.#exchange.abort(reason)
  }

  leave(over: () => void): void {
    const later = this.#later ?? []
    this.#later = undefined
    this.#over = over
    const wasPaused = this.#exchange.isPaused
    // Nothing more is read after the upstream's part, and no client waits for the verdict on its last words.
    if (this.#isOver || (this.#tap.isCurrent && !wasPaused && later.length === 0)) {
      this.#leaveNow()
      return
    }
    this.#exchange.readOn()
    for (const step of later) step()
  }

  /** Ends the reading. */
  #leaveNow(): void {
    this.abort('the client left')
    const over = this.#over
    this.#over = undefined
    over?.()
  }

  /** Only the usage matters; no client sees the events. */
  #learn(events: Buffer): void {
    this.#restBytes += events.length
    const shown = this.#translated(events)
    if (shown === undefined) return
    if (this.#tap.isCounted || this.#restBytes > REST_BYTES_MAX) this.#leaveNow()
  }

  #take(events: Buffer): void {
    if (this.#over !== undefined) {
      this.#learn(events)
      return
    }
    const shown = this.#translated(events)
    if (shown === undefined) return
    const inspected = this.#tap.release(false)
    if (inspected === undefined) this.#taken(shown)
    else {
      // The upstream is in time, although the client may have to wait for an inspector.
      if (this.#tap.content && !this.#exchange.hasBegun) this.#exchange.begun()
      this.#await(inspected, this.#taken)
    }
  }

  /** undefined if the work failed; an uncaught error would end the process. */
  #translated(events: Buffer): Buffer | undefined {
    try {
      return this.#tap.take(events)
    } catch (error) {
      this.#exchange.abort('the answer cannot be passed on')
      this.#finish(untranslated(error))
      return undefined
    }
  }

  #taken(shown: Buffer): void {
    const { failure, done, endedEarly } = this.#tap
    if (!this.#open && failure === undefined && this.#begun()) this.#begin()
    this.#emit(shown)
    if (failure !== undefined) {
      this.#exchange.abort('the upstream reported an error')
      this.#finish(failure)
    } else if (done) {
      this.#exchange.complete()
      this.#finish(undefined)
    } else if (endedEarly) {
      this.#exchange.abort('the answer has ended')
      this.#finish(undefined)
    }
  }

  /** The upstream is paused meanwhile; bytes that arrive anyway are handled later. */
  #await(inspected: Promise<Buffer>, next: (shown: Buffer) => void): void {
    this.#later = []
    this.#exchange.pause()
    inspected.then(
      (shown) => this.#goOn(() => next.call(this, shown)),
      (error: Error) => this.#goOn(() => this.#refuse(error)),
    )
  }

  #goOn(next: () => void): void {
    // The client may have left.
    if (this.#ended !== undefined || this.#over !== undefined) return
    const later = this.#later ?? []
    this.#later = undefined
    next()
    // If a step has to wait again, the steps after it wait too.
    for (const step of later) step()
    if (this.#later === undefined && !this.#isFull) this.#exchange.resume()
  }

  #refuse(error: Error): void {
    this.#exchange.abort('the answer was refused')
    this.#conclude(error instanceof AnswerTooLarge ? untranslated(error) : error)
  }

  #begun(): boolean {
    return this.#tap.showsContent || this.#complete()
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
    if (this.#sink?.write(bytes) !== false) return
    this.#isFull = true
    this.#exchange.pause()
  }

  #finish(failure: Failure | undefined): void {
    if (this.#isOver) return
    if (this.#over !== undefined) {
      this.#leaveNow()
      return
    }
    this.#isOver = true
    const held = failure === undefined ? this.#tap.release(true) : undefined
    if (held === undefined) this.#conclude(failure)
    else this.#await(held, this.#released)
  }

  /** The last events that an inspector held. */
  #released(shown: Buffer): void {
    const { failure } = this.#tap
    if (!this.#open && failure === undefined) this.#begin()
    this.#emit(shown)
    this.#conclude(failure)
  }

  #conclude(failure: Breakage | undefined): void {
    if (this.#ended !== undefined) return
    this.#isOver = true
    const last = failure === undefined ? this.#last() : failure
    const breakage = Buffer.isBuffer(last) ? undefined : last
    this.#ended = { failure: breakage }
    if (!this.#open) {
      this.#open = true
      this.#listener.opened(breakage)
    }
    if (Buffer.isBuffer(last)) this.#emit(last)
    this.#listener.ended(breakage)
    this.#sink?.finish(breakage)
  }

  /** The bytes after a complete answer. */
  #last(): Buffer | Failure {
    try {
      return this.#tap.end()
    } catch (error) {
      return untranslated(error)
    }
  }
}

/** Some JSON can be parsed but not written. */
function untranslated(error: unknown): Failure {
  const isLarge = error instanceof AnswerTooLarge
  const message = isLarge ? error.message : 'The answer cannot be translated.'
  return { class: 'malformed', message }
}

const CUT: Failure = {
  class: 'reset',
  message: 'The upstream closed the stream before its end.',
}
