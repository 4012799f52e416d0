/**
 * Virtual time: planned events, in order. Nothing happens in between, so a history is the same in
 * every run.
 */
import { setImmediate as turn } from 'node:timers/promises'

interface Happening {
  readonly at: number
  readonly happen: () => void | Promise<void>
}

export class VirtualTime {
  /** Milliseconds since the start of the history. */
  now = 0
  /** By moment, the latest first; of one moment, the first planned is last. */
  readonly #ahead: Happening[] = []

  /**
   * Plans an event; a promise that it returns may wait for the real world, never for virtual time.
   */
  at(moment: number, happen: Happening['happen']): void {
    const at = Math.max(this.now, moment)
    let [from, to] = [0, this.#ahead.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#ahead[middle] as Happening).at > at) from = middle + 1
      else to = middle
    }
    this.#ahead.splice(from, 0, { at, happen })
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.now + ms, resolve))
  }

  /** Runs all events planned up to a moment. */
  async runTo(end: number): Promise<void> {
    for (;;) {
      const next = this.#ahead.at(-1)
      if (next === undefined || next.at > end) break
      this.#ahead.pop()
      this.now = next.at
      await next.happen()
      // Everything that waited for it continues now, regardless of the number of promises in
      // between, and what waits for the next turn.
      await turn()
      await turn()
    }
    this.now = end
  }
}
