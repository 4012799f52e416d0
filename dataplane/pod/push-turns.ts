/** Turns at the push port: one body is read and unpacked at a time, the others wait for theirs in order. */

/** A pod gets a configuration and keys; more than a few waiting bodies mean that a sender repeats them. */
const WAITING_MAX = 8

export class Turns {
  #last: Promise<void> = Promise.resolve()
  #count = 0

  /** Undefined if too many already wait. */
  take<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#count > WAITING_MAX) return undefined
    this.#count += 1
    const turn = this.#last.then(work).finally(() => {
      this.#count -= 1
    })
    this.#last = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }
}
