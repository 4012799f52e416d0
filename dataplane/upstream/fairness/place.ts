/** The right of one request to run at a shared upstream, until it is released. */
import type { MeteredAttempt } from '../../tokens/metered-attempt.ts'
import type { ShareCharge } from './shares.ts'

/** The queue that granted the place. */
export interface Giver<T> {
  released(place: Place<T>): void
  settled(place: Place<T>, outputTokens: number): void
}

export class Place<T> {
  readonly charge: ShareCharge<T>
  readonly #giver: Giver<T>
  /** Absent before the attempt begins. */
  #metered: MeteredAttempt | undefined
  #isReleased = false

  constructor(charge: ShareCharge<T>, giver: Giver<T>) {
    this.charge = charge
    this.#giver = giver
  }

  /** The attempt of the request begins. */
  begin(metered: MeteredAttempt): void {
    this.#metered = metered
    metered.place = this
  }

  /** Output tokens so far. */
  get tokens(): number {
    const { contentEvents = 0, usage } = this.#metered ?? {}
    return Math.max(contentEvents, usage?.completionTokens ?? 0)
  }

  /** Frees the place, once. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#giver.released(this)
  }

  /** Records the output tokens of the attempt. Only the first report counts. */
  settle(outputTokens: number): void {
    this.#giver.settled(this, outputTokens)
  }
}
