/** How long to wait before a failed attempt is repeated in place, or that it must not be. */

/** Longest wait before a repeat; a client that waits longer is better served elsewhere. */
const DELAY_MS_MAX = 2000
const COOL_MS_MAX = 60_000

export interface RetryFacts {
  /** Number of the attempt at this upstream that has failed, from 1. */
  readonly attempt: number
  readonly initialDelayMs: number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** The wait that the upstream asked for, if it did. */
  readonly retryAfterMs: number | undefined
  readonly respectRetryAfter: boolean
}

export type RetryDelay =
  | { readonly kind: 'wait'; readonly delayMs: number }
  /** Not again in place; the upstream is tried last for so long. */
  | { readonly kind: 'move_on'; readonly coolMs: number }

/**
 * Full jitter over an exponential bound; a short `Retry-After` is a lower bound, a long one moves
 * on.
 */
export function retryDelayMs(failed: RetryFacts): RetryDelay {
  const asked = failed.respectRetryAfter ? Math.max(0, failed.retryAfterMs ?? 0) : 0
  if (asked > DELAY_MS_MAX) return { kind: 'move_on', coolMs: Math.min(asked, COOL_MS_MAX) }
  const bound = Math.min(DELAY_MS_MAX, failed.initialDelayMs * 2 ** (failed.attempt - 1))
  return { kind: 'wait', delayMs: Math.max(asked, failed.random() * bound) }
}
