/** A system whose books are checked: how it starts with limits, and what the checks need from it. */

/** No longer does a check wait for slots. */
export const SLOT_SECONDS_MAX = 20
/** Seconds in place of longer waits; JSON has no infinity. */
export const NEVER = 1e9

/** Each figure: its heading in the table, and what it is. */
export const FIGURES = {
  atOnce: [
    'at once',
    '64 requests at once against a cap of 10: % served beyond it; below 0: refused under it',
  ],
  inAll: ['in all', 'the same of a budget, with one request after the other until a refusal'],
  slots: ['slots taken', 'of 4, one second after kill -9 of the process that had them all'],
  slotSeconds: [
    's to free',
    `seconds from then until all 4 are free; the check waits ${SLOT_SECONDS_MAX} s`,
  ],
  lost: ['served', 'of the requests in the second after the shared store has ended, %'],
  lostMs: ['slowest', 'of these answers, ms'],
  revocation: ['revoked', 'a key is removed: ms until its first refusal'],
  cached: ['cached', '800 of 1,000 prompt tokens at a tenth of the price: charge / price'],
  aborted: ['aborted', 'a client leaves a stream: charge / price of what was generated'],
} as const

export type Figure = keyof typeof FIGURES
export type Figures = Partial<Record<Figure, number>>

export const CHECKS = ['cap', 'slots', 'store', 'revocation', 'cached tokens', 'aborted'] as const
export type Check = (typeof CHECKS)[number]

/** USD per million tokens, in every check. */
export const PRICE = { input: 10, output: 20, cached_input: 1 }
export const MICRO = 1e-6

/** A store that processes share. */
export interface Store {
  readonly url: string
  /** Ends it, and nothing takes its place. */
  end(): Promise<void>
  stop(): Promise<void>
}

/** The limits of a start; absent: none that matters. */
export interface Terms {
  readonly upstreamUrl: string
  /** The cap: as many requests of ten tokens. */
  readonly requestsMax?: number
  readonly slots?: number
  readonly store?: Store | undefined
}

export interface Running {
  /** The origin of each process. */
  readonly urls: readonly string[]
  readonly key: string
  /** In the requests. */
  readonly model: string
  /** Ends the first process without a chance to settle anything; resolves with what serves then. */
  kill(): Promise<Running>
  /** Takes the key away, in the way that the system documents. */
  revoke?(): Promise<void>
  /** USD that it has charged so far. */
  spent?(): Promise<number>
  stop(): Promise<void>
}

export interface System {
  readonly name: string
  /** The limit that caps the requests of the first check. */
  readonly cap: string
  /** Its cap is a sum, which time does not refill within a check. */
  readonly isBudget?: boolean
  /** Requests at once in the check of the cap, if it does not answer 64. */
  readonly atOnceMax?: number
  /** A fact that its figures need to be understood. */
  readonly remark?: string
  /** Its starts or its slots take many seconds, so that it is checked less often. */
  readonly isSlow?: boolean
  /** Absent: it shares nothing. */
  startStore?(): Promise<Store>
  start(terms: Terms): Promise<Running>
  /** Checks that cannot be had, with the reason. */
  readonly lacks: Partial<Record<Check, string>>
}
