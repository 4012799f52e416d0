/** How many requests are answered at a time. The others wait in the order in which they came. */
export class Slots {
  readonly #size: number
  readonly #queue = new Set<() => void>()
  #running = 0

  constructor(size: number) {
    this.#size = size
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Resolves once a slot is taken; rejects when the signal comes first. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#running < this.#size) {
      this.#running += 1
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      this.#queue.delete(grant)
      reject(signal.reason)
    }
    const grant = () => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    this.#queue.add(grant)
    signal.addEventListener('abort', leave, { once: true })
    await promise
  }

  /** The slot goes to the request that has waited longest, so it stays taken while any request waits. */
  free(): void {
    const [next] = this.#queue
    if (next === undefined) {
      this.#running -= 1
      return
    }
    this.#queue.delete(next)
    next()
  }
}
