/** The attempts of one request so far, and the possible next ones. */
import type { FailureClass } from '../../wire/provider.ts'

export interface AttemptTarget {
  readonly name: string
  /** Most tokens of prompt and answer together; undefined if unknown. */
  readonly contextWindow: number | undefined
}

/** A failed attempt. */
export interface FailedAttempt<T extends AttemptTarget> {
  readonly candidate: T
  readonly failure: FailureClass
  /** Whether the request itself may have caused the failure, so that repeats of it do not count. */
  readonly isDoubtful?: boolean
  /** Whether the upstream's Retry-After is too long for a repeat. */
  readonly moveOn: boolean
  /** Whether the wait before a repeat would exceed the deadline of the request. */
  readonly isTooLate?: boolean
  /** Whether the connection failed, so that another endpoint may work at once. */
  readonly isCut?: boolean
  /** Whether the upstream has another key, which it may accept at once. */
  readonly isOfKey?: boolean
  /** Whether no connection could be made, so that nothing was sent. */
  readonly isUnreached?: boolean
}

/**
 * `full`: at its own limit of requests in flight. `spent`: a quota of its provider has no room for the request. `out`:
 * unhealthy, or its breaker refuses.
 */
export type Standing = 'ready' | 'full' | 'spent' | 'out'

/** A quota of an upstream that has no room for a request. */
export interface Spent {
  /** For the trace. */
  readonly why: string
  /** When it may have room, on the monotonic clock. */
  readonly until: number
  /** For the client. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Why no request may go to an upstream now. */
export type Out =
  | 'reference unresolved'
  | 'drained'
  | 'tokenizer mismatch'
  | 'no endpoint'
  | 'unhealthy'
  | 'breaker open'

/** The full quotas that a request has met, by upstream. */
export class SpentQuotas {
  readonly #byUpstream = new Map<string, Spent>()

  note(upstream: string, spent: Spent): void {
    this.#byUpstream.set(upstream, spent)
  }

  isSpent(upstream: string, now: number): boolean {
    const spent = this.#byUpstream.get(upstream)
    return spent !== undefined && spent.until > now
  }

  /** The one that has room first. */
  get first(): Spent | undefined {
    return [...this.#byUpstream.values()].toSorted((one, other) => one.until - other.until)[0]
  }
}
