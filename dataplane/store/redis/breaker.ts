/** The breaker of the shared store: failures open it, good probes close it, a request never closes it. */
import type { Clock } from '../../base/clock.ts'

/** In a row. */
const FAILURES_MAX = 3

/** Opens if half of the answers of a second failed, with at least this many answers. */
const WINDOW_MS = 1_000
const WINDOW_OUTCOMES_MIN = 20

/** Good probes in a row that close it. */
const PROBES = 3

/** If the store fails again within this time after its return, twice as many good probes are needed, up to a bound. */
const FLAP_MS = 10_000
const PROBES_MAX = 24

export interface BreakerOptions {
  /** Whether the first good probe closes it, because no request is served while it is open. */
  readonly isHasty?: boolean
}

export class Breaker {
  #isOpen = true
  #failures = 0
  #probes = 0
  /** The very first answer is enough: nothing has failed yet. */
  #probesNeeded = 1
  #closedAt = Number.NEGATIVE_INFINITY
  #windowEnd = 0
  #windowGood = 0
  #windowBad = 0
  readonly #clock: Clock
  readonly #options: BreakerOptions

  constructor(clock: Clock, options: BreakerOptions = {}) {
    this.#clock = clock
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  succeeded(): void {
    this.#failures = 0
    this.#windowGood++
  }

  /** True when this failure opened it. */
  failed(): boolean {
    if (this.#isOpen) return false
    this.#roll()
    this.#failures++
    this.#windowBad++
    const outcomes = this.#windowBad + this.#windowGood
    const isMostly = outcomes >= WINDOW_OUTCOMES_MIN && this.#windowBad * 2 >= outcomes
    if (this.#failures < FAILURES_MAX && !isMostly) return false
    this.#open()
    return true
  }

  /** True when this probe closed it. */
  probed(isGood: boolean): boolean {
    if (!this.#isOpen) return false
    this.#probes = isGood ? this.#probes + 1 : 0
    if (this.#probes < this.#probesNeeded) return false
    this.#isOpen = false
    this.#failures = 0
    this.#windowEnd = 0
    this.#closedAt = this.#clock.now()
    return true
  }

  #open(): void {
    this.#isOpen = true
    this.#probes = 0
    this.#probesNeeded = this.#options.isHasty ? 1 : this.#steadyProbes()
  }

  #steadyProbes(): number {
    const isFlapping = this.#clock.now() - this.#closedAt < FLAP_MS && this.#probesNeeded >= PROBES
    return isFlapping ? Math.min(PROBES_MAX, this.#probesNeeded * 2) : PROBES
  }

  #roll(): void {
    const now = this.#clock.now()
    if (now < this.#windowEnd) return
    this.#windowEnd = now + WINDOW_MS
    this.#windowGood = 0
    this.#windowBad = 0
  }
}
