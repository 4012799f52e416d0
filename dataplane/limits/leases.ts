/** The leases of admitted requests in the store: renewed while they run, raised when they outgrow their hold. */
import type { Clock, Deadline } from '../base/clock.ts'
import { type Member, Roster } from '../base/roster.ts'
import { type Amount, BEAT_MS, type LeaseId, type Rules, type Store } from '../store/contract.ts'

/** A hold that is outgrown is raised to this many times what was used. */
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

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.due = clock.now() + BEAT_MS
  }

  add(lease: Lease): void {
    this.#leases.add(lease)
  }

  remove(lease: Lease): void {
    this.#leases.remove(lease)
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
   * Refused or not, the request goes on and is counted: what it used is used. A raise that was refused is asked for again
   * with the next beat, because others may have given back what stood in its way.
   */
  #raise(lease: Lease, used: Amount): void {
    const estimate = {
      tokens: Math.ceil(used.tokens * RAISE),
      nanos: Math.ceil(used.nanos * RAISE),
    }
    const raised = this.#store.extend({ ...lease.hold, estimate })
    const hold = (isRaised: boolean) => {
      if (isRaised) lease.held = estimate
    }
    if (raised instanceof Promise) void raised.then(hold)
    else hold(raised)
  }
}
