/** The leases of admitted requests in the store: renewed while the requests run, raised if they outgrow their holds. */

import { smaller } from '../accounts/amounts.ts'
import {
  type Amount,
  BEAT_MS,
  type LeaseId,
  type Rules,
  type Soon,
  type Store,
} from '../accounts/store.ts'
import type { Clock, Deadline } from '../base/clock.ts'
import { type Member, Roster } from '../base/roster.ts'

/** An outgrown hold is raised to the used amount times this factor. */
const RAISE = 1.5

/** A request in the store, and the budgets that it was admitted under. */
export interface Hold extends LeaseId, Pick<Rules, 'budget'> {
  readonly scoped?: Rules['scoped'] | undefined
  /** The id of the key. */
  readonly key?: string
}

export class Lease implements Member {
  seat = -1
  readonly hold: Hold
  readonly used: () => Amount
  held: Amount
  /** Returns the hold by the count of the prompt; undefined if the hold contains no upper bound. */
  count: (() => Soon<Amount>) | undefined
  counting: Promise<void> | undefined

  constructor(hold: Lease['hold'], held: Amount, used: () => Amount) {
    this.hold = hold
    this.held = held
    this.used = used
  }
}

/** All leases of the process, renewed in one call. */
export class Leases implements Deadline {
  due: number
  seat = -1
  readonly #leases = new Roster<Lease>()
  readonly #store: Store
  readonly #clock: Clock
  /** Number of leases that hold by upper bounds. */
  #bounds = 0

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.due = clock.now() + BEAT_MS
  }

  add(lease: Lease): void {
    this.#leases.add(lease)
    if (lease.count !== undefined) this.#bounds++
  }

  remove(lease: Lease): void {
    if (lease.count !== undefined && lease.seat !== -1) this.#bounds--
    this.#leases.remove(lease)
  }

  /** Recounts the leases that hold by upper bounds under one of the budgets. Undefined if there are none. */
  recount(tenant: string, { scoped }: Pick<Hold, 'scoped'>): Promise<unknown> | undefined {
    if (this.#bounds === 0) return undefined
    const shares = ({ hold }: Lease) =>
      hold.tenant === tenant ||
      hold.scoped?.some((mine) => scoped?.some(({ scope }) => scope.id === mine.scope.id))
    const bound = this.#leases.list().filter((lease) => lease.count !== undefined && shares(lease))
    if (bound.length === 0) return undefined
    return Promise.all(bound.map((lease) => this.#recount(lease)))
  }

  #recount(lease: Lease): Promise<void> {
    lease.counting ??= this.#lower(lease)
    return lease.counting
  }

  async #lower(lease: Lease): Promise<void> {
    const estimate = await lease.count?.()
    if (estimate === undefined || lease.seat === -1) return
    this.#bounds--
    lease.count = undefined
    lease.held = smaller(lease.held, estimate)
    await this.#store.extend({ ...lease.hold, estimate, isCount: true })
  }

  expire(): void {
    this.due = this.#clock.now() + BEAT_MS
    const beats = this.#leases.list().map((lease) => {
      const used = lease.used()
      if (used.tokens > lease.held.tokens || used.nanos > lease.held.nanos) this.#raise(lease, used)
      return { tenant: lease.hold.tenant, id: lease.hold.id, used }
    })
    void this.#store.renew(beats)
  }

  /**
   * The request runs on and is counted even if the store refuses the raise. The next beat tries the raise again,
   * because other requests may have released their holds.
   */
  #raise(lease: Lease, used: Amount): void {
    const estimate = {
      tokens: Math.ceil(used.tokens * RAISE),
      nanos: Math.ceil(used.nanos * RAISE),
    }
    const raised = this.#store.extend({ ...lease.hold, estimate })
    const hold = (isRaised: boolean) => {
      if (isRaised) lease.held = estimate
      // Upper bounds of other requests may cause the refusal.
      else void this.recount(lease.hold.tenant, lease.hold)
    }
    if (raised instanceof Promise) void raised.then(hold)
    else hold(raised)
  }
}
