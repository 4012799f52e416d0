/** The circuit breaker of one upstream: refuses immediately after repeated failures, and tries again later. */
import type { UpstreamSection } from '../schema/index.ts'

export type BreakerState = 'closed' | 'open' | 'half_open'

export interface BreakerSettings {
  /** Consecutive failures that open the breaker. */
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
 * Permission for one attempt; returned once, with `success`, `failure` or `neutral`. All permits of one period are the
 * same object, which is cheap and identifies results of earlier periods.
 */
export interface Permit {
  readonly kind: 'closed' | 'probe'
}

export class Breaker {
  readonly #onChange: (from: BreakerState, to: BreakerState) => void
  #settings: BreakerSettings
  #state: BreakerState = 'closed'
  /** The permit of the present period; an open breaker never gives it out. */
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

  /** Whether `permit` would return one, so that the upstream is eligible. */
  permits(now: number): boolean {
    const state = this.peek(now)
    if (state !== 'half_open') return state === 'closed'
    return this.#state === 'open' || this.#probes < this.#settings.halfOpenProbes
  }

  /** Time when an open breaker allows probes; undefined while it is not open. */
  get reopensAt(): number | undefined {
    return this.#state === 'open' ? this.#reopening() : undefined
  }

  /** Returns a permit for one attempt, or undefined to refuse; a probe takes one of the probe places. */
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

  /** Called after a successful health probe: the next request tests the upstream, regardless of the remaining open time. */
  recovered(): void {
    if (this.#state === 'open') this.#enter('half_open', 'probe')
  }

  /** Ends an attempt without a result for the upstream: the client left, or the request was at fault. A probe frees its place. */
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
