/** A queue of keys to reconcile: each key at most once, one worker per key, growing delays after failures. */

export type ReconcileResult = undefined | { readonly againMs: number }

export interface QueueOptions {
  readonly concurrency: number
  readonly random: () => number
  /** Rejects if the key must be tried again. */
  readonly process: (key: string) => Promise<ReconcileResult>
  readonly onError?: (key: string, error: unknown, retryMs: number) => void
  readonly backoffMs?: { readonly first: number; readonly most: number }
}

/** A key that is added while its worker runs is processed once more afterwards. */
export class WorkQueue {
  readonly #options: QueueOptions
  /** In order of arrival; a Set keeps it and forgets duplicates. */
  readonly #waiting = new Set<string>()
  readonly #running = new Set<string>()
  readonly #again = new Set<string>()
  readonly #timers = new Map<string, { at: number; timer: NodeJS.Timeout }>()
  readonly #failures = new Map<string, number>()
  #idle: (() => void)[] = []
  #open = false

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** Keys added earlier are kept and processed from now on. */
  start(): void {
    this.#open = true
    this.#fill()
  }

  add(key: string): void {
    if (this.#running.has(key)) this.#again.add(key)
    else this.#waiting.add(key)
    this.#fill()
  }

  /** Adds it later; the shorter of two delays wins. */
  addAfter(key: string, delayMs: number): void {
    const at = performance.now() + delayMs
    const pending = this.#timers.get(key)
    if (pending !== undefined && pending.at <= at) return
    clearTimeout(pending?.timer)
    const timer = setTimeout(() => {
      this.#timers.delete(key)
      this.add(key)
    }, delayMs)
    this.#timers.set(key, { at, timer })
  }

  get depth(): number {
    return this.#waiting.size + this.#again.size
  }

  get active(): number {
    return this.#running.size
  }

  /** Takes no new keys and resolves when running work has ended. */
  async stop(): Promise<void> {
    this.#open = false
    for (const { timer } of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #fill(): void {
    if (!this.#open) return
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return
      this.#waiting.delete(key)
      this.#running.add(key)
      void this.#work(key)
    }
  }

  async #work(key: string): Promise<void> {
    try {
      const outcome = await this.#options.process(key)
      this.#failures.delete(key)
      if (outcome !== undefined && this.#open) this.addAfter(key, outcome.againMs)
    } catch (error) {
      const delay = this.#delayAfterFailure(key)
      this.#options.onError?.(key, error, delay)
      if (this.#open) this.addAfter(key, delay)
    }
    this.#running.delete(key)
    if (this.#again.delete(key)) this.#waiting.add(key)
    if (this.#running.size === 0) {
      for (const resolve of this.#idle) resolve()
      this.#idle = []
    }
    this.#fill()
  }

  #delayAfterFailure(key: string): number {
    const { first, most } = this.#options.backoffMs ?? { first: 100, most: 60_000 }
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const bound = Math.min(most, first * 2 ** Math.min(failures, 20))
    return bound * (0.5 + this.#options.random() / 2)
  }
}
