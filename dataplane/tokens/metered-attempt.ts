/** The usage of one attempt so far. The attempt and the reader of its answer update it. */

import type { Usage } from '../wire/inner-form.ts'
import { weightOf } from './weight.ts'
import { Worth } from './worth.ts'

export class MeteredAttempt {
  /** Its index among the attempts of the request. */
  readonly index: number
  readonly upstream: string
  /** The model whose price applies. */
  readonly model: string
  /** The route's corrections for the upstream. */
  readonly worth: Worth
  /** Whether the request was written to a connection, so that the upstream may have read the prompt. */
  isWritten = false
  /** Whether the upstream refused the request or failed, so that it bills nothing. */
  hasFailed = false
  /** The upstream's report; a later report replaces an earlier one. */
  usage: Usage | undefined
  /** Content events so far: at least one token each if a stream never reports its usage. */
  contentEvents = 0
  /** The approximate tokens of their text. */
  weight = 0
  /** The bytes of a whole answer that reported no usage. */
  answerBytes = 0
  /** Milliseconds from the request to the end of an answer that is not a stream. */
  tookMs = 0
  /** The same until the client disconnected without an answer. */
  waitedMs = 0
  /** Number of content events in the reported usage; infinite after the end of a stream. */
  countedEvents = Number.POSITIVE_INFINITY
  /** The weight of these events. */
  countedWeight = 0
  /** Its part of the tenant's share; undefined if the upstream is not shared out. */
  place: { settle(outputTokens: number): void } | undefined

  constructor(index: number, upstream: string, model: string, worth: Worth = new Worth()) {
    this.index = index
    this.upstream = upstream
    this.model = model
    this.worth = worth
  }

  /** For one call of an attempt with several calls. */
  ofCall(): MeteredAttempt {
    return new MeteredAttempt(this.index, this.upstream, this.model, this.worth)
  }

  /** Adds the text of content events, in its JSON form. */
  hear(bytes: Uint8Array, start: number, end: number): void {
    this.weight += weightOf(bytes, start, end)
  }

  /** Adds a content event with its text; an event without text is a token. */
  hearEvent(text: string): void {
    this.contentEvents++
    this.weight += text === '' ? 1 : weightOf(Buffer.from(text))
  }

  /** `isBeside`: the report arrived with content or before it, so it may omit that content. */
  report(usage: Usage, isBeside: boolean): void {
    const grows = usage.completionTokens > (this.usage?.completionTokens ?? 0)
    this.usage = usage
    const isCurrent = isBeside
      ? grows && usage.completionTokens >= this.contentEvents
      : usage.completionTokens > 0
    if (isCurrent) {
      this.countedEvents = this.contentEvents
      this.countedWeight = this.weight
    } else if (this.countedEvents === Number.POSITIVE_INFINITY) this.countedEvents = 0
  }

  /** Records a whole answer. */
  answered(usage: Usage | undefined, bytes: number, tookMs: number): void {
    this.usage = usage
    this.answerBytes = bytes
    this.tookMs = tookMs
  }

  /** Records the end of the stream: the reported usage includes all content. */
  end(): void {
    this.countedEvents = Number.POSITIVE_INFINITY
  }

  /** Whether the stream has ended, or the answer is not a stream. */
  get hasEnded(): boolean {
    return this.countedEvents === Number.POSITIVE_INFINITY
  }

  /** Whether the reported usage includes all content read from a stream. */
  get isCurrent(): boolean {
    return this.usage !== undefined && this.contentEvents <= this.countedEvents
  }

  /** Whether the upstream has probably read the prompt. */
  get hasCost(): boolean {
    return this.isWritten && !this.hasFailed
  }
}
