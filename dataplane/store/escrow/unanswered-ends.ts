/**
 * Ends of requests that this process has sent, or wants to send, and whose answer is missing. The totals of an account count
 * them already, so a call that sends a total ends these leases too, or leaves their amounts out. Otherwise a lease that
 * stays because this process ends before it can ask again would be charged once more when it expires.
 */
import type { Amount } from '../../accounts/store.ts'

/** A younger one is before every later call on the same connection. */
const LATE_MS = 100

/** After an outage thousands are late, and each would be brought by many calls. */
const BESIDE_MAX = 20

/** Those of other windows, after an outage at midnight, must not make each call slow. */
const LOOKED_AT_MAX = 200

interface End {
  readonly id: string
  /** Windows, by their identity. */
  readonly day: object
  readonly month: object
  readonly settled: Amount | undefined
  readonly wasPutBack: boolean
}

export class UnansweredEnds {
  readonly #sentAt = new Map<End, number>()

  /** Keeps the moment of the first time. */
  add(end: End, now: number): void {
    if (!this.#sentAt.has(end)) this.#sentAt.set(end, now)
  }

  answered(end: End): void {
    this.#sentAt.delete(end)
  }

  /** Those that a settlement in these windows brings along, the oldest first, without the given ones. */
  beside(ends: readonly End[], now: number): readonly End[] {
    const found: End[] = []
    const [first] = ends
    if (first === undefined || this.#sentAt.size <= ends.length) return found
    let looked = 0
    for (const end of this.#late(now)) {
      if (found.length === BESIDE_MAX || looked++ === LOOKED_AT_MAX) break
      const { day, month } = end
      if (day === first.day && month === first.month && !ends.includes(end)) found.push(end)
    }
    return found
  }

  /** The part of a window's total that only a settlement may bring. */
  amountIn(window: object, now: number): number {
    let sum = 0
    for (const { day, month, settled } of this.#late(now)) {
      if (day === window) sum += settled?.tokens ?? 0
      if (month === window) sum += settled?.nanos ?? 0
    }
    return sum
  }

  /** The oldest are first in the map, so the first young one ends it. */
  *#late(now: number): Generator<End> {
    for (const [end, sentAt] of this.#sentAt) {
      if (now - sentAt < LATE_MS) return
      yield end
    }
  }
}
