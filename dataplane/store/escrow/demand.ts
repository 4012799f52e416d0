/** The recent use of an account by this replica, from which the size of its slice follows. */
import { copy, hasAll, KINDS, nothing, type Quantities } from './quantities.ts'

/** The usage is that of the present half second and the one before. */
const SPAN_MS = 500

/** This multiple is wanted: for more than the five seconds of a failover of the store. */
const SPANS = 8

/** Extra requests, of the size of the last one, that a slice has room for. */
const FEW = 4

/** Two requests in this time are busy; fewer ask for themselves. */
const BUSY_MS = 5_000

export class Demand {
  #present = nothing()
  #before = nothing()
  #presentEnds = Number.NEGATIVE_INFINITY
  readonly #last = nothing()
  /** When the request before the last one came. */
  #previousAt = Number.NEGATIVE_INFINITY
  /** When the last request came. */
  lastAt = Number.NEGATIVE_INFINITY

  /** `slots`: the number in use, including this request. */
  add(need: Readonly<Quantities>, slots: number, now: number): void {
    this.#turn(now)
    const sums = this.#present
    sums.requests += Math.max(1, need.requests)
    sums.rated += need.rated
    sums.tokens += need.tokens
    sums.nanos += need.nanos
    sums.slots = Math.max(sums.slots, slots)
    copy(need, this.#last)
    this.#previousAt = this.lastAt
    this.lastAt = now
  }

  isBusy(now: number): boolean {
    return now - this.#previousAt < BUSY_MS
  }

  /** The wanted idle amounts, with this number of slots in use. */
  wanted(slots: number, now: number): Quantities {
    this.#turn(now)
    const wanted = nothing()
    for (const kind of KINDS) {
      const lately = this.#present[kind] + this.#before[kind]
      if (this.#last[kind] > 0) wanted[kind] = SPANS * lately + FEW * this.#last[kind]
    }
    const peak = Math.max(this.#present.slots, this.#before.slots)
    if (this.#last.slots > 0) wanted.slots = Math.max(0, peak - slots) + FEW
    return wanted
  }

  /** Whether a slice with these idle amounts has room for the next request of that size. */
  isMetBy(idle: Readonly<Quantities>): boolean {
    return hasAll(idle, this.#last)
  }

  #turn(now: number): void {
    if (now < this.#presentEnds) return
    this.#before = now < this.#presentEnds + SPAN_MS ? this.#present : nothing()
    this.#present = nothing()
    this.#presentEnds = now + SPAN_MS
  }
}
