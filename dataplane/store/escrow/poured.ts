/** The amounts that this replica poured into the buckets of an account, for a store that lost them. */
import { Bucket, type BucketRule } from '../../accounts/bucket.ts'
import type { Measures } from '../../accounts/store.ts'

/** The slice of an account, as the store gets it with what was poured; the numbers are those of its claims. */
export interface PouredSlice {
  /** Gives up what is idle, because the store has set nothing aside any more. */
  forfeit(): void
  /** Has the account note what was used. */
  pour(now: number): void
  readonly claims: number
  /** Whether there is nothing in it, and no claim on its way. */
  readonly isOver: boolean
  readonly requests: number
  readonly rated: number
}

/** Its buckets leak at the whole rate of the account, so that the sum over all replicas is never more than the store had. */
export class Poured {
  /** That of the present day, if there is any. */
  slice: PouredSlice | undefined
  #requests: Bucket | undefined
  #tokens: Bucket | undefined
  #rules: Measures | undefined

  /** Tokens count only under a rate of tokens; they may be less than nothing. */
  add(rules: Measures, requests: number, tokens: number, at: number): void {
    const now = Math.floor(at)
    const { requestsPerMinute, burst = 0, tokensPerMinute } = rules
    this.#rules = rules
    if (requestsPerMinute !== undefined) {
      const rule = { perMinute: requestsPerMinute, capacity: burst }
      this.#requests = charged(this.#requests, rule, requests, now)
    }
    if (tokensPerMinute === undefined) return
    const rule = { perMinute: tokensPerMinute, capacity: tokensPerMinute }
    this.#tokens = charged(this.#tokens, rule, tokens, now)
  }

  /** The usage of a request instead of its estimate. */
  correct(tokens: number, now: number): void {
    this.#tokens?.charge(tokens, Math.floor(now))
  }

  /** Arguments to restore buckets: rate, capacity and units in use, rate and units of tokens; then those of the slice. */
  remembered(at: number): readonly number[] {
    this.slice?.pour(at)
    const { requestsPerMinute = 0, burst = 0, tokensPerMinute = 0 } = this.#rules ?? {}
    const now = Math.floor(at)
    const [requests = 0, tokens = 0] = [this.#requests, this.#tokens].map((bucket) =>
      bucket === undefined ? 0 : bucket.unitsInUse(now),
    )
    const { claims = 0, requests: used = 0, rated = 0, isOver = false } = this.slice ?? {}
    const ofSlice = [claims, used, rated, isOver ? 1 : 0]
    return [requestsPerMinute, burst, requests, tokensPerMinute, tokens, ...ofSlice]
  }
}

function charged(known: Bucket | undefined, rule: BucketRule, cost: number, now: number): Bucket {
  const bucket = known ?? new Bucket(rule, now)
  bucket.obey(rule, now)
  bucket.charge(cost, now)
  return bucket
}
