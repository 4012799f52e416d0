/** The wait before a failed attempt is repeated at the same upstream, or that it must not be repeated there. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Presence } from '../../call/presence.ts'

/** Longest wait before a repeat; instead of a longer wait, another upstream is tried. */
const DELAY_MS_MAX = 2000
const COOL_MS_MAX = 60_000

export interface RetryFacts {
  /** Number of the failed attempt at this upstream, from 1. */
  readonly attempt: number
  readonly initialDelayMs: number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** The upstream's Retry-After, if any. */
  readonly retryAfterMs: number | undefined
  readonly respectRetryAfter: boolean
}

export type RetryDelay =
  | { readonly kind: 'wait'; readonly delayMs: number }
  /** No repeat at this upstream, which is tried last for this time. */
  | { readonly kind: 'move_on'; readonly coolMs: number }

/**
 * Full jitter over an exponential bound; a short `Retry-After` is a lower bound, after a long one another upstream is
 * tried.
 */
export function retryDelayMs(failed: RetryFacts): RetryDelay {
  const asked = failed.respectRetryAfter ? Math.max(0, failed.retryAfterMs ?? 0) : 0
  if (asked > DELAY_MS_MAX) return { kind: 'move_on', coolMs: Math.min(asked, COOL_MS_MAX) }
  const bound = Math.min(DELAY_MS_MAX, failed.initialDelayMs * 2 ** (failed.attempt - 1))
  return { kind: 'wait', delayMs: Math.max(asked, failed.random() * bound) }
}

/** Ends early when the client leaves. */
export async function pauseFor(delayMs: number, presence: Presence): Promise<void> {
  const leaving = new AbortController()
  presence.begin({ leave: () => leaving.abort() })
  await delay(Math.max(0, delayMs), undefined, { signal: leaving.signal }).catch(() => undefined)
  presence.done()
}
