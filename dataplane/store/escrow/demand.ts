/** The recent use of an account by this replica, from which the size of its slice follows. */
import { copy, hasAll, KINDS, nothing, type Quantities } from './quantities.ts'

const SPAN_MS = 1_000

/** The part of the largest use of a second that counts a second later: clients and this process may pause for a moment. */
const KEPT = 0.8

/** This multiple of a second's use is wanted: for more than the five seconds of a failover of the store, after a pause too. */
const SPANS = 8

/** Extra requests, of the size of the last one, that a slice has room for. */
const FEW = 4

/** Two requests in this time are busy; fewer ask for themselves. */
export const BUSY_MS = 5_000

export class Demand {
  #present = nothing()
  /** The largest use of a second, less with time. */
  readonly #peak = nothing()
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

  /** A request that needs nothing but the rate; the next one may need as much as the last other request. */
  addToRate(now: number): void {
    this.#turn(now)
    this.#present.requests++
    this.#last.requests = 1
    this.#previousAt = this.lastAt
    this.lastAt = now
  }

  isBusy(now: number): boolean {
    return now - this.#previousAt < BUSY_MS
  }

  /** The wanted idle amounts, with this number of slots in use. */
  wanted(slots: number, now: number): Quantities {
    this.#turn(now)
    const lately = nothing()
    for (const kind of KINDS) lately[kind] = Math.max(this.#present[kind], this.#peak[kind])
    const wanted = nothing()
    for (const kind of KINDS) {
      if (this.#last[kind] > 0)
        wanted[kind] = Math.ceil(SPANS * lately[kind]) + FEW * this.#last[kind]
    }
    // If the process or its upstream pauses, the requests of a second run at once.
    const atOnce = Math.ceil(Math.max(lately.slots, lately.requests))
    if (this.#last.slots > 0) wanted.slots = Math.max(0, atOnce - slots) + FEW
    return wanted
  }

  /** Whether a slice with these idle amounts has room for the next request of that size. */
  isMetBy(idle: Readonly<Quantities>): boolean {
    return hasAll(idle, this.#last)
  }

  #turn(now: number): void {
    if (now < this.#presentEnds) return
    const kept = KEPT ** Math.floor((now - this.#presentEnds) / SPAN_MS)
    for (const kind of KINDS)
      this.#peak[kind] = kept * Math.max(this.#present[kind], KEPT * this.#peak[kind])
    this.#present = nothing()
    this.#presentEnds = now + SPAN_MS
  }
}
