/** The leases of admitted requests in the store: renewed while they run, raised when they outgrow their hold. */

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
  /** Counts what it would have held by the count of its prompt; undefined once no upper bound is in what it holds. */
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
  /** Leases that hold by upper bounds. */
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

  /** Counts what holds by upper bounds under one of the budgets. Undefined where nothing does. */
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
      // Upper bounds may be in the way.
      else void this.recount(lease.hold.tenant, lease.hold)
    }
    if (raised instanceof Promise) void raised.then(hold)
    else hold(raised)
  }
}
