/** Runs a limited number of tasks at once; the others wait in order of arrival. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#free--
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The slot goes to the task that has waited longest.
      if (next === undefined) this.#free++
      else next()
    }
  }
}
