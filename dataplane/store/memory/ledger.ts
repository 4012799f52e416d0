/** The usage of one tenant in one window, and the holds of its running requests. */
import type { Window } from '../../accounts/windows.ts'

export class Ledger {
  readonly tenant: string
  readonly window: Window
  settled = 0
  /** Held by running requests. */
  reserved = 0
  /** Used by running requests at their last beat; journaled, too, so that it is not lost with the process. */
  running = 0
  /** Requests that hold something. */
  holds = 0
  /** Whether the ledger waits to be written. */
  isListed = false
  /** Thresholds already reported. */
  alerted: readonly number[] = []

  constructor(tenant: string, window: Window) {
    this.tenant = tenant
    this.window = window
  }

  hold(amount: number): void {
    this.holds++
    this.reserved += amount
  }

  /** Changes what a running request holds and has used. */
  adjust(reserved: number, running: number): void {
    this.reserved += reserved
    this.running += running
  }

  /** The last release sets the sums to zero, so that sums beyond the safe integers leave no remainder. */
  release(reserved: number, running: number): void {
    this.holds--
    this.reserved = this.holds === 0 ? 0 : Math.max(0, this.reserved - reserved)
    this.running = this.holds === 0 ? 0 : Math.max(0, this.running - running)
  }

  /** A negative amount takes back the charge of an expired hold. */
  charge(amount: number): void {
    this.settled = Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, this.settled + amount))
  }

  /** The usage if every running request ended now. */
  get used(): number {
    return Math.min(Number.MAX_SAFE_INTEGER, this.settled + this.running)
  }

  isSpent(limit: number | undefined): boolean {
    return limit !== undefined && this.settled >= limit
  }

  /** Whether the budget is not spent, but running requests may spend it: a further request could overshoot it too far. */
  isPromised(limit: number | undefined): boolean {
    return limit !== undefined && this.settled < limit && this.settled + this.reserved >= limit
  }
}
