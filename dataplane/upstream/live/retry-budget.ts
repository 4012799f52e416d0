/**
 * Limits the repeated attempts at one upstream, so that retries cannot keep a failing one down.
 */

const BUCKETS = 10
const BUCKET_MS = 1000
const SHARE = 0.2
/** Repeats that are always allowed in a window, because with little traffic a share would allow none. */
const FLOOR = 3

/** Counts over the last ten seconds, in buckets of one second. */
export class RetryBudget {
  readonly #requests = new Uint32Array(BUCKETS)
  readonly #repeats = new Uint32Array(BUCKETS)
  #requestsInWindow = 0
  #repeatsInWindow = 0
  #second = 0

  /** Counts a first attempt at the upstream, including the first one at a fallback. */
  request(now: number): void {
    const bucket = this.#advance(now)
    this.#requests[bucket] = (this.#requests[bucket] ?? 0) + 1
    this.#requestsInWindow++
  }

  /** Takes one repeated attempt from the budget; false if the budget is spent. */
  take(now: number): boolean {
    const bucket = this.#advance(now)
    // Rounded down, so that the share is a bound.
    const allowed = Math.max(FLOOR, Math.floor(SHARE * this.#requestsInWindow))
    if (this.#repeatsInWindow >= allowed) return false
    this.#repeats[bucket] = (this.#repeats[bucket] ?? 0) + 1
    this.#repeatsInWindow++
    return true
  }

  /** Empties the buckets that have left the window; the bucket of `now`. */
  #advance(now: number): number {
    const second = Math.max(this.#second, Math.floor(now / BUCKET_MS))
    const stale = Math.min(BUCKETS, second - this.#second)
    for (let past = 0; past < stale; past++) this.#empty((second - past) % BUCKETS)
    this.#second = second
    return second % BUCKETS
  }

  #empty(bucket: number): void {
    this.#requestsInWindow -= this.#requests[bucket] ?? 0
    this.#repeatsInWindow -= this.#repeats[bucket] ?? 0
    this.#requests[bucket] = 0
    this.#repeats[bucket] = 0
  }
}
