/** When each token is due, counted from the start, so that timer delays do not add up. */
import { setTimeout as delay } from 'node:timers/promises'

export interface PaceSettings {
  readonly latencyMs: number
  /** Infinity: all at once. */
  readonly tokensPerSecond: number
}

export class AnswerPace {
  readonly #settings: PaceSettings
  readonly #begin = performance.now()

  constructor(settings: PaceSettings) {
    this.#settings = settings
  }

  /** Resolves when the token at this position is due; rejects if the client disconnects first. */
  async reach(position: number, signal: AbortSignal): Promise<void> {
    const { latencyMs, tokensPerSecond } = this.#settings
    const due = this.#begin + latencyMs + (position * 1000) / tokensPerSecond
    const wait = due - performance.now()
    if (wait > 0) await delay(wait, undefined, { signal })
    signal.throwIfAborted()
  }
}
