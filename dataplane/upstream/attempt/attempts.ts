/** The attempts of one request so far, and where the next may go. */
import type { FailureClass } from '../../wire/provider.ts'

export interface AttemptTarget {
  readonly name: string
  /** Tokens that prompt and answer may hold together; undefined when unknown. */
  readonly contextWindow: number | undefined
}

/** An attempt that has failed. */
export interface FailedAttempt<T extends AttemptTarget> {
  readonly candidate: T
  readonly failure: FailureClass
  /** Whether the request itself may have caused it, so that its repeats do not count. */
  readonly isDoubtful?: boolean
  /** The upstream asked for a longer wait than a repeat in place is worth. */
  readonly moveOn: boolean
  /** Whether the wait before a repeat in place would outlast the time of the request. */
  readonly isTooLate?: boolean
  /** Whether the connection failed, so that another endpoint may work at once. */
  readonly isCut?: boolean
  /** Whether no connection could be made, so that nothing was sent. */
  readonly isUnreached?: boolean
}

/** `full`: at its own limit of requests in flight. `out`: unhealthy, or its breaker refuses. */
export type Standing = 'ready' | 'full' | 'out'

/** Why no request may go to an upstream now. */
export type Out =
  | 'reference unresolved'
  | 'tokenizer mismatch'
  | 'no endpoint'
  | 'unhealthy'
  | 'breaker open'
