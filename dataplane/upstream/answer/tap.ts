/** Reads a passing stream for content, usage, finish and errors, and decides which bytes the client gets. */

import type { MeteredAttempt } from '../../tokens/metered-attempt.ts'
import type { CostWriter } from '../../wire/dialect.ts'
import type { ClientReader, Released } from '../../wire/inspection.ts'
import type { Failure, Framing, WireMeaning } from '../../wire/provider.ts'

export class Tap {
  /** Whether an event had text, reasoning, a tool call or a refusal. */
  content = false
  finished = false
  done = false
  /** Whether the terminal event has passed, so that none must be added. */
  doneShown = false
  failure: Failure | undefined
  /** The failure that the stream ends with unless more comes. */
  pending: Failure | undefined
  brokenEvents = 0
  /** Whether an inspector ended the answer before the upstream did. */
  endedEarly = false
  #contentReleased = false
  readonly #reader: ClientReader
  readonly #framing: Framing
  readonly #metered: MeteredAttempt
  readonly #clean: (failure: Failure) => Failure
  readonly #costs: CostWriter | undefined

  /** `clean` removes secrets from a failure; `costs` is for clients that read the cost in the stream. */
  constructor(
    reader: ClientReader,
    framing: Framing,
    metered: MeteredAttempt,
    clean: (failure: Failure) => Failure = (failure) => failure,
    costs?: CostWriter,
  ) {
    this.#costs = costs
    this.#clean = clean
    this.#reader = reader
    this.#framing = framing
    this.#metered = metered
  }

  /** Takes whole frames and returns the bytes for the client, which may be empty. */
  take(frames: Buffer): Buffer {
    const whole = this.#isOver() ? undefined : this.#skim(frames)
    if (whole !== undefined) return whole
    const out: Buffer[] = []
    for (const frame of this.#framing.split(frames)) {
      if (this.#isOver()) break
      // In a run with an event that must be read, the others need not be.
      const skimmed = frame.length < frames.length ? this.#skim(frame) : undefined
      const shown = skimmed ?? this.#read(frame)
      if (shown.length > 0) out.push(shown)
    }
    return out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out)
  }

  #skim(frames: Buffer): Buffer | undefined {
    return this.content ? this.#reader.skim?.(frames, this.#metered) : undefined
  }

  /** Whether the usage of the answer is final. */
  get isCounted(): boolean {
    return this.#isOver() || (this.finished && this.#metered.usage !== undefined)
  }

  /** Whether the reported usage includes all content so far. */
  get isCurrent(): boolean {
    return this.content && this.#metered.isCurrent
  }

  /** Whether the client sees content. */
  get showsContent(): boolean {
    return this.#reader.release === undefined ? this.content : this.#contentReleased
  }

  /**
   * With an inspector: the client's bytes for the events that it released, at the end of a complete answer also for the
   * held ones. Rejects with the error that ends the answer.
   */
  release(isComplete: boolean): Promise<Buffer> | undefined {
    return this.#reader.release?.(isComplete).then((released) => this.#released(released))
  }

  /** The bytes that follow a complete answer. */
  end(): Buffer {
    return this.doneShown
      ? NOTHING
      : Buffer.from(this.#priced(this.#reader.end(this.#metered.usage)))
  }

  /** Frames after an error or the terminal event are not part of the answer. */
  #isOver(): boolean {
    return this.failure !== undefined || this.done
  }

  #released({ text, content, ended, failure }: Released): Buffer {
    this.#contentReleased ||= content
    this.endedEarly ||= ended
    this.failure ??= failure
    return Buffer.from(this.#priced(text))
  }

  /** Adds the cost to the last events. */
  #priced(text: string): string {
    const isLast = this.finished || this.done || this.endedEarly
    return isLast && this.#costs !== undefined ? this.#costs.write(text) : text
  }

  /** Only a report after the content includes it. Some upstreams report the prompt first, or send running counts. */
  #count({ usage, content }: WireMeaning): void {
    const metered = this.#metered
    if (usage !== undefined) metered.report(usage, content)
    if (this.finished || this.done) metered.end()
  }

  #read(frame: Buffer): Buffer {
    const event = this.#framing.parse(frame)
    if (event === undefined) return this.#reader.passesComments ? frame : NOTHING
    const meaning = this.#reader.read(event)
    if (meaning.content) {
      this.content = true
      this.#metered.hearEvent(meaning.said ?? '')
    }
    this.finished ||= meaning.finished
    this.done ||= meaning.done
    if (meaning.failure !== undefined) this.failure ??= this.#clean(meaning.failure)
    if (meaning.pending !== undefined) this.pending = this.#clean(meaning.pending)
    this.#count(meaning)
    if (meaning.failure !== undefined) return NOTHING
    if (meaning.broken) this.brokenEvents++
    if (meaning.out !== 'same') return Buffer.from(this.#priced(meaning.out))
    this.doneShown ||= meaning.done
    if (this.#costs === undefined) return frame
    const text = frame.toString()
    const priced = this.#priced(text)
    return priced === text ? frame : Buffer.from(priced)
  }
}

const NOTHING = Buffer.alloc(0)
