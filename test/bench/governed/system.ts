/** A system whose books are checked: how it starts with limits, and what the checks need from it. */

/** Each check: its name in the table, and the unit of its figure. */
export const CHECKS = {
  overshoot: 'a cap of 10 requests, 64 at once: % beyond it',
  slots: 'of 4 slots, still taken 1 s after kill -9 and a new start',
  slotSeconds: 'seconds until all 4 are free again',
  lost: 'the store ends, with defaults: % of the requests of the next second that were served',
  lostMs: 'slowest of these answers, ms',
  revocation: 'a key is removed: ms until its first refusal',
  cached: '800 of 1,000 prompt tokens from the cache at a tenth of the price: charge / price',
  aborted: 'a client leaves a stream after 20 tokens: charge / price of what was generated',
} as const

export type Check = keyof typeof CHECKS

/** USD per million tokens, in every check. */
export const PRICE = { input: 10, output: 20, cached_input: 1 }
export const MICRO = 1e-6

/** The limits of a start; absent: none that matters. */
export interface Terms {
  readonly upstreamUrl: string
  /** The cap, as a budget of the cost of these requests or, where a system has none, as a rate. */
  readonly requestsMax?: number
  readonly slots?: number
  /** A store that other processes share, at a unix socket. */
  readonly storeSocket?: string
}

export interface Running {
  readonly url: string
  readonly key: string
  /** Ends it without a chance to settle anything. */
  kill(): Promise<void>
  /** Takes the key away, in the way that the system documents. */
  revoke?(): Promise<void>
  /** USD that it has charged so far. */
  spent?(): Promise<number>
  stop(): Promise<void>
}

export interface System {
  readonly name: string
  start(terms: Terms): Promise<Running>
  /** Checks that cannot be had here, with the reason. */
  readonly lacks: Partial<Record<Check, string>>
}
