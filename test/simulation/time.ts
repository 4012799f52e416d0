/** Virtual time: what is to happen, in order. Nothing happens in between, so a history is the same in every run. */
import { setImmediate as turn } from 'node:timers/promises'

interface Happening {
  readonly at: number
  readonly happen: () => void | Promise<void>
}

export class VirtualTime {
  /** Milliseconds since the history began. */
  now = 0
  /** By moment, the latest first; of one moment, what was planned first is last. */
  readonly #ahead: Happening[] = []

  /** Plans something; a promise that it returns may wait for the real world, never for virtual time. */
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

  /** Lets everything happen that is planned up to a moment. */
  async runTo(end: number): Promise<void> {
    for (;;) {
      const next = this.#ahead.at(-1)
      if (next === undefined || next.at > end) break
      this.#ahead.pop()
      this.now = next.at
      await next.happen()
      // Everything that waited for it goes on now, however many promises stand between.
      await turn()
    }
    this.now = end
  }
}
