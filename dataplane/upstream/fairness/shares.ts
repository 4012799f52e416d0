/**
 * Chooses the next request for a full upstream, from the tenant with the fewest output tokens for
 * its weight. This is start-time fair queueing over expected tokens, which the tokens of the answer
 * correct.
 */
import type { FairnessSection } from '../../schema/fairness.ts'
import { Account, expectedAfter } from './account.ts'
import { Decayed } from './decayed.ts'
import { Weights } from './weights.ts'

export type ShareSettings = Pick<
  FairnessSection,
  'weights' | 'default_weight' | 'guarantee' | 'max_waiting'
>

/** A running request, and the charge of its tenant. */
export interface ShareCharge<T> {
  readonly account: Account<T>
  charged: number
  /** Output tokens that the tenant's recent use includes. */
  counted: number
  /** The contention in which it was charged. */
  contention: number
  isSettled: boolean
}

/** Output tokens of an answer before the first one has ended. */
const EXPECTED_FIRST = 256
/** An answer counts as at least one token, so that the number of vectors and failures is shared. */
const COST_MIN = 1
/** The number of accounts from which idle tenants are forgotten. */
const ACCOUNTS_MAX = 4096
const RETRY_SECONDS_MAX = 3600

export class Shares<T> {
  readonly #weights = new Weights()
  readonly #accounts = new Map<string, Account<T>>()
  /** Accounts with waiting requests, in no order. */
  readonly #waiting: Account<T>[] = []
  readonly #used = new Decayed()
  #waitingMax = 1
  #count = 0
  #arrivals = 0
  /** The highest mark at which a request has started. */
  #present = 0
  /** Incremented when a request waits after a time without waiting requests. */
  #contention = 0
  #expected: number | undefined

  configure(settings: ShareSettings): void {
    this.#waitingMax = settings.max_waiting
    this.#weights.configure(settings)
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.#count
  }

  account(tenant: string, isLow: boolean): Account<T> {
    const known = this.#accounts.get(tenant)
    if (known !== undefined) {
      if (known.isIdle) known.isLow = isLow
      return known
    }
    if (this.#accounts.size >= ACCOUNTS_MAX) this.#forget()
    const account = new Account<T>(tenant, isLow)
    this.#accounts.set(tenant, account)
    return account
  }

  /**
   * Adds a waiting request. If too many wait, returns the dropped one: the newest request of the
   * tenant with the most for its weight, which may be this one.
   */
  join(account: Account<T>, one: T): T | undefined {
    if (this.#count === 0) this.#contention++
    if (account.isIdle) this.#weights.enter(account)
    if (account.waiting.length === 0) {
      account.mark = Math.max(account.mark, this.#level)
      account.since = this.#arrivals++
      account.index = this.#waiting.push(account) - 1
    }
    account.waiting.push(one)
    this.#count++
    if (this.#count <= this.#waitingMax) return undefined
    const crowded = this.#mostCrowded()
    const out = crowded.waiting.at(-1)
    if (out !== undefined) this.leave(crowded, out)
    return out
  }

  leave(account: Account<T>, one: T): void {
    const place = account.waiting.lastIndexOf(one)
    if (place === -1) return
    account.waiting.splice(place, 1)
    this.#left(account)
    if (account.isIdle) this.#weights.leave(account)
  }

  /** All waiting requests. */
  all(): readonly T[] {
    return this.#waiting.flatMap(({ waiting }) => waiting)
  }

  /** Removes the next request from its queue and charges it; undefined if none waits. */
  next(): { readonly one: T; readonly account: Account<T> } | undefined {
    let [first] = this.#waiting
    if (first === undefined) return undefined
    for (const account of this.#waiting) if (isBefore(account, first)) first = account
    const one = first.waiting.shift() as T
    first.running++
    this.#left(first)
    return { one, account: first }
  }

  /** Charges a request that starts without waiting. */
  enter(account: Account<T>): void {
    if (account.isIdle) this.#weights.enter(account)
    account.mark = Math.max(account.mark, this.#present)
    account.running++
  }

  /** `most`: the client's limit of tokens. Follows `next` or `enter`. */
  charge(account: Account<T>, most: number): ShareCharge<T> {
    const expected = account.expected ?? this.#expected ?? EXPECTED_FIRST
    const charged = Math.max(COST_MIN, Math.min(expected, most))
    this.#present = Math.max(this.#present, account.mark)
    account.mark += charged / this.#weights.of(account)
    return { account, charged, counted: 0, contention: this.#contention, isSettled: false }
  }

  /** Records the request's output tokens so far. Only tokens beyond its charge change the order. */
  progress(charge: ShareCharge<T>, tokens: number, now: number): void {
    this.#use(charge, tokens, now)
    // Tokens generated while no request waited were taken from no other tenant.
    if (this.#isFree(charge)) charge.charged = Math.max(charge.charged, tokens)
    else if (tokens > charge.charged) this.#correct(charge, tokens)
    charge.contention = this.#contention
  }

  /** Records the end of the request, with its output tokens. */
  settle(charge: ShareCharge<T>, tokens: number, now: number): void {
    if (charge.isSettled) return
    charge.isSettled = true
    const { account } = charge
    this.#use(charge, tokens, now)
    if (!this.#isFree(charge)) this.#correct(charge, Math.max(COST_MIN, tokens))
    // A failure does not change the expectation.
    if (tokens === 0) return
    account.expected = expectedAfter(account.expected, tokens)
    this.#expected = expectedAfter(this.#expected, tokens)
  }

  /** The request no longer runs; its tokens may be known later. */
  end({ account }: ShareCharge<T>): void {
    account.running--
    if (account.isIdle) this.#weights.leave(account)
  }

  /**
   * Seconds until the tenant's waiting requests have left the queue, at its share of the current
   * throughput; `unknown`: without a throughput.
   */
  retryAfterSeconds(account: Account<T>, now: number, unknown: number): number {
    const pace = this.#used.perSecond(now) * this.#weights.shareOf(account)
    const ahead = Math.max(0, account.mark - this.#level) * this.#weights.of(account)
    const expected = account.expected ?? this.#expected ?? EXPECTED_FIRST
    const tokens = account.waiting.length * expected + ahead
    const seconds = pace > 0 ? Math.ceil(tokens / pace) : unknown
    return Math.min(RETRY_SECONDS_MAX, Math.max(1, seconds))
  }

  /**
   * The tenants that use the upstream or have recently used it: those with the most requests first.
   */
  list(now: number, most: number) {
    const all = this.#used.at(now)
    const shown = [...this.#accounts.values()].filter(
      (account) => !account.isIdle || account.used.at(now) >= COST_MIN,
    )
    const busiest = shown.toSorted(
      (one, other) =>
        other.waiting.length - one.waiting.length || other.used.at(now) - one.used.at(now),
    )
    return busiest.slice(0, most).map((account) => ({
      tenant: account.tenant,
      waiting: account.waiting.length,
      running: account.running,
      tokens_per_second: rounded(account.used.perSecond(now)),
      share: all > 0 ? rounded(Math.min(1, account.used.at(now) / all)) : 0,
      entitled: account.isIdle ? 0 : rounded(this.#weights.shareOf(account)),
    }))
  }

  /**
   * The start of a tenant that was idle: level with the next tenant, so that it has saved nothing
   * and owes nothing. Corrections may have moved all waiting tenants below the last start.
   */
  get #level(): number {
    let [first] = this.#waiting
    if (first === undefined) return this.#present
    for (const account of this.#waiting) if (account.mark < first.mark) first = account
    return Math.min(first.mark, this.#present)
  }

  /**
   * Whether the charge was made or last read before the current contention, or that contention has
   * ended.
   */
  #isFree({ contention }: ShareCharge<T>): boolean {
    return this.#count === 0 || contention !== this.#contention
  }

  #correct(charge: ShareCharge<T>, tokens: number): void {
    charge.account.mark += (tokens - charge.charged) / this.#weights.of(charge.account)
    charge.charged = tokens
  }

  #use(charge: ShareCharge<T>, tokens: number, now: number): void {
    const more = Math.max(0, tokens - charge.counted)
    charge.counted += more
    charge.account.used.add(more, now)
    this.#used.add(more, now)
  }

  #left(account: Account<T>): void {
    this.#count--
    if (account.waiting.length > 0) return
    const last = this.#waiting.pop() as Account<T>
    if (last === account) return
    this.#waiting[account.index] = last
    last.index = account.index
  }

  #mostCrowded(): Account<T> {
    const crowdOf = (account: Account<T>) => account.waiting.length / this.#weights.of(account)
    return this.#waiting.reduce((most, one) => (crowdOf(one) > crowdOf(most) ? one : most))
  }

  /** Debts are kept while there is room. */
  #forget(): void {
    const idle = [...this.#accounts.values()].filter(({ isIdle }) => isIdle)
    const settled = idle.filter(({ mark }) => mark <= this.#present)
    const gone = settled.length > 0 ? settled : idle
    for (const { tenant } of gone) this.#accounts.delete(tenant)
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

function isBefore<T>(one: Account<T>, other: Account<T>): boolean {
  return one.mark < other.mark || (one.mark === other.mark && one.since < other.since)
}
