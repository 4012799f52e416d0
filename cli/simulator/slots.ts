/** Limits the number of requests answered at once. The others wait in order of arrival. */
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

  /** Resolves once a slot is taken; rejects if the signal arrives first. */
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

  /** The longest waiting request gets the slot, so the slot stays taken while any request waits. */
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
