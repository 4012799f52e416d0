/** A credential that is fetched at the start, renewed in the background well before it expires, and kept while renewal fails. */
import type { Clock } from '../../base/clock.ts'
import { maskKeys } from '../../base/shown-text.ts'
import type { CredentialSource, FetchedCredential } from '../../wire/credential-source.ts'

/**
 * `fetching`: the first fetch is under way. `kept`: the credential is valid, but its renewal fails. `missing`: no
 * credential is valid.
 */
export type CredentialState = 'fetching' | 'valid' | 'kept' | 'missing'

/** The clock and timers of the renewal, and its listeners. */
export interface RenewalWorld {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  random(): number
  /** Calls once, after that number of milliseconds; returns a function that prevents it. */
  schedule(delayMs: number, call: () => void): () => void
  /** Called after each fetch. */
  fetched(ok: boolean): void
  /** Called once per change of the state. */
  changed(to: CredentialState): void
}

/** One fetch, with the retries that an SDK makes. */
export const FETCH_MS_MAX = 15_000
/** Renewal begins after 50 to 70 % of the time left, so that replicas do not renew together. */
const SPENT_SHARE = 0.5
const SPENT_JITTER = 0.2
const RENEW_MS_MIN = 1_000
const RENEW_MS_MAX = 12 * 3_600_000
/** Interval if the source names no expiry, because a file or a variable may change. */
const UNDATED_MS = 600_000
const BACKOFF_MS = 1_000
const BACKOFF_MS_MAX = 60_000
/** Shortest time between two renewals that a refusal by an upstream causes. */
const EARLY_MS = 60_000
const FAULT_LENGTH_MAX = 300

export class RenewedCredential {
  readonly #source: CredentialSource
  readonly #world: RenewalWorld
  #state: CredentialState = 'fetching'
  #held: FetchedCredential | undefined
  #fault: string | undefined
  /** Failed fetches since the last that succeeded. */
  #failures = 0
  #running: Promise<void> | undefined
  #giveUp: AbortController | undefined
  #cancel: (() => void) | undefined
  /** The value that an upstream refused last. */
  #refused: string | undefined
  #refusedAt = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(source: CredentialSource, world: RenewalWorld) {
    this.#source = source
    this.#world = world
    this.#renew()
  }

  get from(): string {
    return this.#source.from
  }

  /** The value that requests carry now; undefined while there is no valid one. */
  get current(): FetchedCredential | undefined {
    const held = this.#held
    return held !== undefined && this.#leftMs(held) > 0 ? held : undefined
  }

  get state(): CredentialState {
    return this.#state !== 'fetching' && this.current === undefined ? 'missing' : this.#state
  }

  /** Why the last fetch failed, for operators. */
  get fault(): string | undefined {
    return this.#fault
  }

  /**
   * The fetch for which a request should wait, because no credential is valid or an upstream refused it. undefined if
   * waiting cannot help, because the service has just failed.
   */
  pending(): Promise<void> | undefined {
    const { current } = this
    if (current !== undefined && current.value !== this.#refused) return undefined
    if (this.#failures > 0) return undefined
    // A machine that slept has missed its timer.
    if (current === undefined && this.#running === undefined) this.#renew()
    return this.#running
  }

  /** Notes that an upstream refused this value. It may have been revoked, so the gateway renews it early, once. */
  refused(value: string): void {
    const now = this.#world.clock.now()
    if (this.#held?.value !== value || this.#refused === value) return
    if (now - this.#refusedAt < EARLY_MS) return
    this.#refused = value
    this.#refusedAt = now
    this.#renew()
  }

  /** Ends further fetches. A request that waits for a running fetch still gets its result. */
  stop(): void {
    this.#stopped = true
    this.#cancel?.()
  }

  /** Like `stop`, and aborts a running fetch. */
  end(): void {
    this.stop()
    this.#giveUp?.abort(new Error('The gateway ends.'))
  }

  #renew(): void {
    if (this.#stopped || this.#running !== undefined) return
    this.#cancel?.()
    this.#running = this.#fetch().then((delayMs) => {
      this.#running = undefined
      if (!this.#stopped) this.#schedule(delayMs)
    })
  }

  #schedule(delayMs: number): void {
    this.#cancel = this.#world.schedule(delayMs, () => this.#renew())
  }

  /** Resolves with the time until the next fetch; never rejects. */
  async #fetch(): Promise<number> {
    try {
      return this.#take(await this.#bounded())
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** An SDK may ignore the signal. */
  async #bounded(): Promise<FetchedCredential> {
    const giveUp = new AbortController()
    this.#giveUp = giveUp
    const cancel = this.#world.schedule(FETCH_MS_MAX, () =>
      giveUp.abort(new Error(`It sent no answer within ${FETCH_MS_MAX / 1000} s.`)),
    )
    const { promise: gaveUp, reject } = Promise.withResolvers<never>()
    giveUp.signal.addEventListener('abort', () => reject(giveUp.signal.reason), { once: true })
    try {
      return await Promise.race([this.#source.fetch(giveUp.signal), gaveUp])
    } finally {
      cancel()
    }
  }

  #take(fetched: FetchedCredential): number {
    const leftMs = this.#leftMs(fetched)
    if (fetched.value === '') throw new Error('It returned an empty credential.')
    if (leftMs <= 0) throw new Error('It returned a credential that has already expired.')
    this.#held = fetched
    this.#failures = 0
    this.#fault = undefined
    this.#world.fetched(true)
    this.#become('valid')
    const spent = SPENT_SHARE + SPENT_JITTER * this.#world.random()
    const ms = Number.isFinite(leftMs) ? leftMs * spent : UNDATED_MS * (0.5 + spent)
    return Math.min(RENEW_MS_MAX, Math.max(RENEW_MS_MIN, ms))
  }

  #fail(error: unknown): number {
    const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** Math.min(this.#failures, 10))
    this.#failures++
    this.#fault = faultOf(error)
    this.#world.fetched(false)
    this.#become(this.current === undefined ? 'missing' : 'kept')
    return backoffMs * (0.5 + 0.5 * this.#world.random())
  }

  #become(state: CredentialState): void {
    if (state === this.#state) return
    this.#state = state
    this.#world.changed(state)
  }

  #leftMs({ expiresAtMs }: FetchedCredential): number {
    return (expiresAtMs ?? Number.POSITIVE_INFINITY) - this.#world.clock.wall()
  }
}

/** Messages of SDKs may have many lines. */
export function faultOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const line = text.replace(/\s+/g, ' ').trim() || 'It failed without a message.'
  return maskKeys(line).slice(0, FAULT_LENGTH_MAX)
}
