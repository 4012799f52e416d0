/** The recent use of an account by this replica, from which the size of its slice follows. */
import { hasAll, KINDS, nothing, type Quantities } from './quantities.ts'

/** The present half second and the one before show how much is used. */
const SPAN_MS = 500

/** As often that is wanted: for more than the five seconds that a failover of the store takes. */
const SPANS = 8

/** Requests of the size of the last one that a slice has room for beyond that. */
const FEW = 4

/** Fewer requests than that in these spans ask for themselves. */
const BUSY = 2

export class Demand {
  #present = nothing()
  #before = nothing()
  #presentEnds = Number.NEGATIVE_INFINITY
  #last = nothing()
  /** When the last request came. */
  lastAt = Number.NEGATIVE_INFINITY

  /** `slots`: how many are in use with this request. */
  add(need: Readonly<Quantities>, slots: number, now: number): void {
    this.#turn(now)
    const sums = this.#present
    sums.requests += Math.max(1, need.requests)
    sums.rated += need.rated
    sums.tokens += need.tokens
    sums.nanos += need.nanos
    sums.slots = Math.max(sums.slots, slots)
    this.#last = { ...need }
    this.lastAt = now
  }

  isBusy(now: number): boolean {
    this.#turn(now)
    return this.#present.requests + this.#before.requests >= BUSY
  }

  /** How much is wanted idle, with that number of slots in use. */
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

  /** Whether a slice with so much idle has room for the next request of that size. */
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
