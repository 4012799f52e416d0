/** A decaying sum: an added amount counts for about ten seconds. */

const MEMORY_MS = 10_000

export class Decayed {
  #sum = 0
  #at = 0

  add(amount: number, now: number): void {
    this.#sum = this.at(now) + amount
    this.#at = now
  }

  /** The sum at that moment. */
  at(now: number): number {
    return this.#sum === 0 ? 0 : this.#sum * Math.exp((this.#at - now) / MEMORY_MS)
  }

  perSecond(now: number): number {
    return (this.at(now) * 1000) / MEMORY_MS
  }
}
