/** The usage of one attempt so far; updated by the attempt and the reader of its answer. */

import type { Usage } from '../wire/inner-form.ts'
import { weightOf } from './weight.ts'
import { Worth } from './worth.ts'

export class MeteredAttempt {
  /** Its place among the attempts of the request. */
  readonly index: number
  readonly upstream: string
  /** The model whose price applies. */
  readonly model: string
  /** The lessons of the route about the upstream. */
  readonly worth: Worth
  /** Whether a connection has taken the request, so that the upstream may have read the prompt. */
  isWritten = false
  /** Whether the upstream refused the request or failed, so that it bills nothing. */
  hasFailed = false
  /** As the upstream reported it; later reports replace earlier ones. */
  usage: Usage | undefined
  /** Content events read: at least one token each, for a stream that never reported its usage. */
  contentEvents = 0
  /** The tokens of the text in them, about. */
  weight = 0
  /** The bytes of a whole answer, for one that never reported its usage. */
  answerBytes = 0
  /** Milliseconds from the request to the end of an answer that is no stream. */
  tookMs = 0
  /** The same where the client left before that end, and there is no answer. */
  waitedMs = 0
  /** Number of content events that the reported usage includes; all of them after a stream has ended. */
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

  /** For one call of several that are one attempt. */
  ofCall(): MeteredAttempt {
    return new MeteredAttempt(this.index, this.upstream, this.model, this.worth)
  }

  /** Text of content events, as it stands in JSON. */
  hear(bytes: Uint8Array, start: number, end: number): void {
    this.weight += weightOf(bytes, start, end)
  }

  /** One content event with its text; one without is a token. */
  hearEvent(text: string): void {
    this.contentEvents++
    this.weight += text === '' ? 1 : weightOf(Buffer.from(text))
  }

  /** `isBeside`: the report came with content or before it, so it may count only earlier content, or none. */
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

  /** Notes a whole answer. */
  answered(usage: Usage | undefined, bytes: number, tookMs: number): void {
    this.usage = usage
    this.answerBytes = bytes
    this.tookMs = tookMs
  }

  /** Notes the end of the stream, so that the reported usage includes all content. */
  end(): void {
    this.countedEvents = Number.POSITIVE_INFINITY
  }

  /** Whether the stream has ended, or the answer is not a stream. */
  get hasEnded(): boolean {
    return this.countedEvents === Number.POSITIVE_INFINITY
  }

  /** Whether the usage that was reported counts all that has been read of a stream. */
  get isCurrent(): boolean {
    return this.usage !== undefined && this.contentEvents <= this.countedEvents
  }

  /** Whether the upstream has read the prompt, as far as can be known. */
  get hasCost(): boolean {
    return this.isWritten && !this.hasFailed
  }
}
