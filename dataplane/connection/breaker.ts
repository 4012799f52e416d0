/**
 * The circuit breaker of one upstream: refuses at once where attempts have kept failing, and tries
 * again later.
 */
import type { UpstreamSection } from '../schema/index.ts'

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerSettings {
  /** Consecutive failures that open it. */
  readonly failureThreshold: number
  readonly openDurationMs: number
  /** Probes in flight at most while half open, and successes that close it. */
  readonly halfOpenProbes: number
}

const DEFAULTS = { failure_threshold: 5, open_duration_seconds: 30, half_open_probes: 1 }

export function breakerSettingsOf({
  circuit_breaker: settings = DEFAULTS,
}: Pick<UpstreamSection, 'circuit_breaker'>): BreakerSettings {
  return {
    failureThreshold: settings.failure_threshold,
    openDurationMs: settings.open_duration_seconds * 1000,
    halfOpenProbes: settings.half_open_probes,
  }
}

/**
 * Leave to make one attempt; handed back once, with `success`, `failure` or `neutral`. All permits
 * of one period are the same object, so that giving one costs nothing and a result from an earlier
 * period is known by its permit.
 */
export interface Permit {
  readonly kind: 'closed' | 'probe'
}

export class Breaker {
  readonly #onChange: (from: BreakerState, to: BreakerState) => void
  #settings: BreakerSettings
  #state: BreakerState = 'closed'
  /** The permit of the present period; that of an open breaker is never given. */
  #permit: Permit = { kind: 'closed' }
  #failures = 0
  #openedAt = 0
  #probes = 0
  #successes = 0

  constructor(
    settings: BreakerSettings,
    onChange: (from: BreakerState, to: BreakerState) => void = () => {},
  ) {
    this.#settings = settings
    this.#onChange = onChange
  }

  /** Replaces the settings and keeps the state; an open breaker reopens by the new duration. */
  configure(settings: BreakerSettings): void {
    this.#settings = settings
  }

  /** The state at a moment, without taking anything. */
  peek(now: number): BreakerState {
    return this.#state === 'open' && now >= this.#reopening() ? 'half_open' : this.#state
  }

  /** Whether `permit` would give one: what makes the upstream eligible. */
  permits(now: number): boolean {
    const state = this.peek(now)
    if (state !== 'half_open') return state === 'closed'
    return this.#state === 'open' || this.#probes < this.#settings.halfOpenProbes
  }

  /** When an open breaker lets probes through; undefined while it is not open. */
  get reopensAt(): number | undefined {
    return this.#state === 'open' ? this.#reopening() : undefined
  }

  /** Leave for one attempt, or undefined to refuse; a probe takes one of the places. */
  permit(now: number): Permit | undefined {
    if (this.#state === 'closed') return this.#permit
    if (!this.permits(now)) return undefined
    if (this.#state === 'open') this.#enter('half_open', 'probe')
    this.#probes++
    return this.#permit
  }

  success(permit: Permit, _now: number): void {
    if (permit !== this.#permit) return
    if (this.#state === 'closed') {
      this.#failures = 0
      return
    }
    this.#probes--
    this.#successes++
    if (this.#successes >= this.#settings.halfOpenProbes) this.#enter('closed', 'closed')
  }

  failure(permit: Permit, now: number): void {
    if (permit !== this.#permit) return
    this.#failures++
    if (this.#state === 'closed' && this.#failures < this.#settings.failureThreshold) return
    this.#openedAt = now
    this.#enter('open', 'closed')
  }

  /** Its health probe has succeeded again: the next request finds out whether it serves, however long it was to stay open. */
  recovered(): void {
    if (this.#state === 'open') this.#enter('half_open', 'probe')
  }

  /**
   * Says nothing about the upstream: the client left, or the request was at fault. A probe frees
   * its place.
   */
  neutral(permit: Permit): void {
    if (permit === this.#permit && this.#state === 'half_open') this.#probes--
  }

  #reopening(): number {
    return this.#openedAt + this.#settings.openDurationMs
  }

  #enter(to: BreakerState, kind: Permit['kind']): void {
    const from = this.#state
    this.#state = to
    this.#permit = { kind }
    this.#failures = 0
    this.#probes = 0
    this.#successes = 0
    this.#onChange(from, to)
  }
}
