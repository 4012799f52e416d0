/** Admissions without an answer: the store may hold a slot that no request uses, so the gateway takes it back. */

import type { Moment } from '../../accounts/windows.ts'
import type { Clock } from '../../base/clock.ts'
import type { Account } from './redis-accounts.ts'
import { type Calls, LATE_MS } from './redis-calls.ts'
import { SETTLE, SETTLE_ONLY, TAKE_BACK } from './scripts/settle.ts'

/** With more, the oldest is dropped, and its lease expires. */
const UNANSWERED_MAX = 10_000

interface Unanswered {
  /** The account of the tenant, and those of the other budgets. */
  readonly accounts: readonly Account[]
  readonly moment: Moment
  /** Time after which the admission can no longer arrive, on this process's clock. */
  readonly until: number
  /** Whether the request ran anyway, so that its charge to the rate stays. */
  hasRun: boolean
}

export class UnansweredAdmissions {
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #unanswered = new Map<string, Unanswered>()

  constructor(calls: Calls, clock: Clock) {
    this.#calls = calls
    this.#clock = clock
  }

  add(accounts: readonly Account[], id: string): void {
    const { day, month, at } = this.#calls.present
    const until = this.#clock.now() + 2 * LATE_MS
    this.#unanswered.set(id, { accounts, moment: { day, month, at }, until, hasRun: false })
    if (this.#unanswered.size <= UNANSWERED_MAX) return
    for (const oldest of this.#unanswered.keys()) {
      this.#unanswered.delete(oldest)
      return
    }
  }

  hasRun(id: string): void {
    const unanswered = this.#unanswered.get(id)
    if (unanswered !== undefined) unanswered.hasRun = true
  }

  /** Ids of admissions that can no longer arrive. */
  due(): readonly string[] {
    const now = this.#clock.now()
    return [...this.#unanswered].filter(([, { until }]) => now > until).map(([id]) => id)
  }

  /** Releases the slot and the holds of the admission without a charge. */
  async takeBack(id: string): Promise<void> {
    const unanswered = this.#unanswered.get(id)
    if (unanswered === undefined) return
    const { accounts, until } = unanswered
    const isFinal = this.#clock.now() > until
    const found = await Promise.all(accounts.map((one) => this.#takeBack(id, one, unanswered)))
    if (isFinal || found.every((one) => one)) this.#unanswered.delete(id)
  }

  /** Returns whether the account had the admission. */
  async #takeBack(id: string, account: Account, { moment, hasRun }: Unanswered): Promise<boolean> {
    const { day, month } = account.windowsAt(moment)
    const nothing = [0, 0, 0, 0, -1]
    const [, , found] = await this.#calls.run({
      script: SETTLE,
      account,
      isBounded: false,
      windows: () => [day, month],
      args: () => [id, 0, hasRun ? SETTLE_ONLY : TAKE_BACK, ...nothing, ...nothing],
    })
    return found !== 0
  }
}
