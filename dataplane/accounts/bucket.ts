/**
 * A token bucket that counts the units in use, in whole numbers. One request is 60,000 units, and the units that leak
 * per millisecond equal the requests allowed per minute. So nothing is ever rounded, and usage survives a change of the rule.
 */

const UNITS = 60_000

/** A larger cost would exceed the safe integers; no request has a hundred thousand million tokens. */
const COST_MAX = 100_000_000_000

export interface BucketRule {
  readonly perMinute: number
  /** Requests, or tokens, that fit at once. */
  readonly capacity: number
}

export class Bucket {
  /** Units in use at the time `#at`. */
  #level = 0
  #at: number
  #perMinute: number
  #capacity: number

  constructor({ perMinute, capacity }: BucketRule, now: number) {
    this.#at = now
    this.#perMinute = perMinute
    this.#capacity = capacity
  }

  /**
   * Applies a changed rule. The time since the last request leaks at the slower of both rates, because the time of the
   * change is unknown: a raise is no refill. A smaller bucket becomes full, not overfull, so that clients do not wait
   * for requests that the old rule allowed. A clock that went back restarts from here.
   */
  obey({ perMinute, capacity }: BucketRule, now: number): void {
    if (perMinute === this.#perMinute && capacity === this.#capacity && now >= this.#at) return
    this.#perMinute = Math.min(this.#perMinute, perMinute)
    this.#level = Math.min(this.#levelAt(now), capacity * UNITS)
    this.#at = now
    this.#perMinute = perMinute
    this.#capacity = capacity
  }

  /**
   * Milliseconds until `cost` fits; 0 if it fits now. A cost above the capacity fits when the bucket is empty, and is
   * charged in full: the rate holds, and no request waits forever.
   */
  wait(cost: number, now: number): number {
    const capacity = this.#capacity * UNITS
    const over = this.#levelAt(now) + Math.min(cost * UNITS, capacity) - capacity
    return over <= 0 ? 0 : Math.ceil(over / this.#perMinute)
  }

  /** Charges `cost`; a negative cost returns units that have not leaked yet. */
  charge(cost: number, now: number): void {
    const bounded = Math.max(-COST_MAX, Math.min(COST_MAX, cost)) * UNITS
    const level = this.#levelAt(now) + bounded
    this.#level = Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, level))
    this.#at = now
  }

  /** Whole requests, or tokens, that fit now. */
  remaining(now: number): number {
    return Math.max(0, Math.floor((this.#capacity * UNITS - this.#levelAt(now)) / UNITS))
  }

  /** One request is 60,000 units. */
  unitsInUse(now: number): number {
    return this.#levelAt(now)
  }

  /** Milliseconds until nothing is in use. */
  resetMs(now: number): number {
    return Math.ceil(this.#levelAt(now) / this.#perMinute)
  }

  /** Empty even if the next rule is the slowest, one request a minute. */
  isEmptyUnderAnyRule(now: number): boolean {
    return this.#level <= now - this.#at
  }

  #levelAt(now: number): number {
    return Math.max(0, this.#level - Math.max(0, now - this.#at) * this.#perMinute)
  }
}
