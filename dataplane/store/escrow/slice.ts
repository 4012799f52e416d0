/**
 * A slice: amounts of one account's counters that the store has set aside for this replica. It is plain state without calls and
 * timers: a claim contains all of it, and the reply is added to what has changed meanwhile.
 */
import { larger, NOTHING, smaller } from '../../accounts/amounts.ts'
import type { Amount } from '../../accounts/store.ts'
import { LEASE_MS } from '../../accounts/store.ts'
import { Demand } from './demand.ts'
import { hasAll, KINDS, nothing, type Quantities } from './quantities.ts'

/**
 * Shorter than the store keeps a slice, by more than the clocks drift meanwhile: a replica stops before others get it.
 */
const GOOD_MS = LEASE_MS - 1_000

/** A counter that another replica's request needed has no slices for this time. */
export const WANTED_MS = 1_000

/** A slice that no request used for this time is returned. */
const QUIET_MS = 10_000

/** After a reply with too little, the replica does not ask for this time. */
const SCARCE_MS = 1_000

/** A request's part of a slice. */
export interface Hold {
  tokens: number
  nanos: number
  /** Tokens charged to the rate; less than 0: none. */
  rated: number
  /** The part that was unused at the request's last beat; 0 before the first. */
  unused: Amount
}

/**
 * A replica's report on its slice; the store sets aside the amounts in use and idle, and grants part of the wanted
 * ones.
 */
export interface Claim {
  readonly number: number
  /** The number of the last claim with a reply. */
  readonly heard: number
  readonly idle: Readonly<Quantities>
  readonly used: Readonly<Quantities>
  /** The part of the used tokens and nanos that the store charges if this replica ends before the next claim. */
  readonly risked: Amount
  readonly wanted: Readonly<Quantities>
  /** The part of the idle amounts that is given back. */
  readonly given: Readonly<Quantities>
  readonly sentAt: number
}

export interface Grant {
  readonly isWanted: boolean
  readonly idle: Readonly<Quantities>
  /** The idle amounts of a fair share. */
  readonly limits: Readonly<Quantities>
}

export class Slice {
  readonly demand = new Demand()
  /** The next requests may need that. */
  idle = nothing()
  /** Slots, tokens and nanos of running requests; requests and tokens of the rate that were used so far. */
  readonly used = nothing()
  /** The part of the used amounts that requests had not used at their last beat. */
  readonly #unused = { tokens: 0, nanos: 0 }
  #goodUntil = Number.NEGATIVE_INFINITY
  #wantedUntil = Number.NEGATIVE_INFINITY
  #scarceUntil = Number.NEGATIVE_INFINITY
  #limits = nothing()
  /** The idle amounts after the last reply. */
  #granted = nothing()
  #number = 0
  #heard = 0
  /** Replies to claims up to this one grant nothing. */
  #voidTo = 0

  covers(need: Readonly<Quantities>, now: number): boolean {
    return this.isGood(now) && hasAll(this.idle, need)
  }

  /** Whether requests may take what is idle. */
  isGood(now: number): boolean {
    return now < this.#goodUntil && now >= this.#wantedUntil
  }

  take(need: Readonly<Quantities>, now: number): void {
    const { idle, used } = this
    idle.requests -= need.requests
    idle.rated -= need.rated
    idle.slots -= need.slots
    idle.tokens -= need.tokens
    idle.nanos -= need.nanos
    used.requests += need.requests
    used.rated += need.rated
    used.slots += need.slots
    used.tokens += need.tokens
    used.nanos += need.nanos
    this.demand.add(need, used.slots, now)
  }

  /** Takes a request of the rate alone; nothing ends later. */
  takeOfRate(now: number): void {
    this.idle.requests--
    this.used.requests++
    this.demand.addToRate(now)
  }

  /** A hold grows by the slice's idle amount, which is less only for a request that already exceeds its hold. */
  grow(hold: Hold, tokens: number, nanos: number): void {
    hold.tokens += tokens
    hold.nanos += nanos
    this.used.tokens += tokens
    this.used.nanos += nanos
    this.idle.tokens = Math.max(0, this.idle.tokens - tokens)
    this.idle.nanos = Math.max(0, this.idle.nanos - nanos)
  }

  /** A running request says what it has used; nothing says nothing. */
  beat(hold: Hold, used: Amount): void {
    const { tokens, nanos } = larger(used, hold)
    this.grow(hold, tokens - hold.tokens, nanos - hold.nanos)
    if (used.tokens + used.nanos === 0) return
    this.#isUnused(hold, { tokens: tokens - used.tokens, nanos: nanos - used.nanos })
  }

  /** The store set more aside for a hold that grows. */
  receive(tokens: number, nanos: number): void {
    this.idle.tokens += tokens
    this.idle.nanos += nanos
  }

  /** Whether more than half of the grant is used. */
  get isLow(): boolean {
    const granted = this.#granted
    const { requests, rated, slots, tokens, nanos } = this.idle
    return (
      requests * 2 < granted.requests ||
      rated * 2 < granted.rated ||
      slots * 2 < granted.slots ||
      tokens * 2 < granted.tokens ||
      nanos * 2 < granted.nanos
    )
  }

  /** A count of the prompt shows that a hold was too large. */
  lower(hold: Hold, counted: Amount): void {
    const tokens = Math.max(0, hold.tokens - counted.tokens)
    const nanos = Math.max(0, hold.nanos - counted.nanos)
    this.#release(tokens, nanos)
    hold.tokens -= tokens
    hold.nanos -= nanos
    this.#isUnused(hold, smaller(hold.unused, hold))
    if (hold.rated <= counted.tokens) return
    this.used.rated += counted.tokens - hold.rated
    hold.rated = counted.tokens
  }

  /** A request ends: its usage is settled elsewhere, and the rest of its hold is idle again. */
  end(hold: Hold, slots: number, spent: Amount): void {
    this.used.slots -= slots
    this.idle.slots += slots
    this.#release(hold.tokens, hold.nanos)
    this.#isUnused(hold, NOTHING)
    this.idle.tokens = Math.max(0, this.idle.tokens - Math.min(hold.tokens, spent.tokens))
    this.idle.nanos = Math.max(0, this.idle.nanos - Math.min(hold.nanos, spent.nanos))
    if (hold.rated >= 0) this.used.rated += spent.tokens - hold.rated
  }

  #isUnused(hold: Hold, unused: Amount): void {
    this.#unused.tokens += unused.tokens - hold.unused.tokens
    this.#unused.nanos += unused.nanos - hold.unused.nanos
    hold.unused = unused
  }

  #release(tokens: number, nanos: number): void {
    this.used.tokens -= tokens
    this.used.nanos -= nanos
    this.idle.tokens += tokens
    this.idle.nanos += nanos
  }

  /** A request elsewhere needs idle amounts. */
  want(now: number): void {
    this.#wantedUntil = now + WANTED_MS
  }

  isWanted(now: number): boolean {
    return now < this.#wantedUntil
  }

  isQuiet(now: number): boolean {
    return now - this.demand.lastAt >= QUIET_MS
  }

  /** Whether a claim may bring more than it returns. */
  mayWant(now: number): boolean {
    return now >= this.#wantedUntil && now >= this.#scarceUntil && this.demand.isBusy(now)
  }

  get hasIdle(): boolean {
    return KINDS.some((kind) => this.idle[kind] > 0)
  }

  get isInUse(): boolean {
    return this.used.slots > 0 || this.used.tokens > 0 || this.used.nanos > 0
  }

  /** The number of claims so far. */
  get claims(): number {
    return this.#number
  }

  /** The store has set nothing aside any more. */
  forfeit(): void {
    this.idle = nothing()
    this.#voidTo = this.#number
  }

  /**
   * Returns for good everything that it does not name as idle. While the store does not answer, nothing is returned that requests
   * here may need, because nothing comes instead of it.
   */
  claim(now: number, may: { readonly keep: boolean; readonly want: boolean }): Claim {
    const isKept = may.keep && this.isGood(now)
    const isQuiet = this.isQuiet(now)
    const wanted = this.demand.wanted(this.used.slots, now)
    const before = this.idle
    const idle = isKept && !this.#isAnswered ? { ...before } : nothing()
    if (isKept && this.#isAnswered && !isQuiet && now >= this.#scarceUntil) {
      for (const kind of KINDS)
        idle[kind] = Math.min(before[kind], this.#limits[kind], wanted[kind])
    }
    this.idle = idle
    const given = nothing()
    for (const kind of KINDS) given[kind] = before[kind] - idle[kind]
    return {
      given,
      number: ++this.#number,
      heard: this.#heard,
      idle: { ...idle },
      used: { ...this.used },
      risked: {
        tokens: this.used.tokens - this.#unused.tokens,
        nanos: this.used.nanos - this.#unused.nanos,
      },
      wanted: may.want && !isQuiet && this.mayWant(now) ? wanted : nothing(),
      sentAt: now,
    }
  }

  /** A claim that did not leave this process gives nothing back. */
  takeBack({ given, number }: Claim): void {
    if (number <= this.#voidTo) return
    for (const kind of KINDS) this.idle[kind] += given[kind]
  }

  get #isAnswered(): boolean {
    return this.#heard === this.#number
  }

  /** The reply to the last claim. */
  hear(claim: Claim, { isWanted, idle, limits }: Grant, now: number): void {
    this.#heard = claim.number
    if (claim.number <= this.#voidTo) return
    this.#limits = { ...limits }
    this.#goodUntil = claim.sentAt + GOOD_MS
    for (const kind of KINDS) {
      this.idle[kind] = Math.max(0, this.idle[kind] + idle[kind] - claim.idle[kind])
    }
    this.#granted = { ...this.idle }
    if (isWanted) this.want(now)
    else if (claim.wanted.slots + claim.wanted.tokens + claim.wanted.nanos > 0) {
      if (!this.demand.isMetBy(idle)) this.#scarceUntil = now + SCARCE_MS
    }
  }
}
