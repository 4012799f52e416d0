/** The store of one process: every verb takes a few look-ups and sums, and returns at once. */

import { larger, sane } from '../../accounts/amounts.ts'
import {
  type AdmitRequest,
  type AdmitResult,
  type Amount,
  type Beat,
  type BudgetScope,
  type Extension,
  type Figures,
  LEASE_MS,
  type Rules,
  type Settlement,
  type Settling,
  type Store,
} from '../../accounts/store.ts'
import type { Clock } from '../../base/clock.ts'
import type { Account } from './account.ts'
import { Accounts } from './accounts.ts'
import { crossings } from './crossings.ts'
import { budgetsNow, limitsInTheWay, longer, mayRaise } from './judgement.ts'
import {
  type Adopted,
  admitted,
  awaits,
  correctRates,
  type HeldWindows,
  lower,
  type MemoryLease,
  rate,
  rateIn,
  release,
  take,
  takeScoped,
  update,
} from './lease.ts'
import { LeaseTable } from './lease-table.ts'
import type { Ledger } from './ledger.ts'
import { chargeRates } from './rates-only.ts'
import type { Tenant } from './tenant.ts'

/** Most expired holds that are remembered, so that a late settlement can correct their charges. */
const EXPIRED_MAX = 10_000

/** Interval of the search for idle tenants. */
const FORGET_MS = 3_600_000

const CHARGED: Settlement = { charged: true, crossed: [] }
const ALREADY_CHARGED: Settlement = { charged: false, crossed: [] }

export interface MemoryOptions {
  readonly clock: Clock
  /** Ledgers of an earlier process, by tenant. */
  readonly restored?: ReadonlyMap<string, readonly Ledger[]>
  /** Called for each ledger whose `used` or `alerted` has changed. */
  readonly onChange?: (ledger: Ledger) => void
  /** Most counters of groups, keys and limits, unless more are in use. */
  readonly scopesMax?: number | undefined
}

export class MemoryStore implements Store {
  readonly #clock: Clock
  readonly #onChange: (ledger: Ledger) => void
  readonly #accounts: Accounts
  readonly #held = new LeaseTable()
  readonly #expired = new Map<string, MemoryLease>()
  /** No lease expires before this time. */
  #expiryAt = Number.POSITIVE_INFINITY
  #turns = 0
  #forgetAt: number

  constructor({ clock, restored = new Map(), onChange = () => {}, scopesMax }: MemoryOptions) {
    this.#clock = clock
    this.#accounts = new Accounts(clock.wall(), restored, scopesMax)
    this.#onChange = (ledger) => {
      if (ledger.window.isUnkept !== true) onChange(ledger)
    }
    this.#forgetAt = this.#now() + FORGET_MS
  }

  admit(request: AdmitRequest): AdmitResult {
    const { rules, id, ratesOnly } = request
    const now = this.#now()
    const wall = this.#clock.wall()
    const tenant = this.#enter(request.tenant, now, wall)
    tenant.obey(rules, now)
    if (ratesOnly === true) return chargeRates(tenant, rules, now)
    const again = this.#held.get(id)
    const scoped = this.#accounts.scoped(rules, now)
    if (again !== undefined) return admitted(again, rules, scoped, now)
    const { relieved, obstacle: spent } = budgetsNow(tenant, scoped, request, wall)
    const reserved = sane(relieved?.estimate ?? request.estimate)
    const obstacle = longer(limitsInTheWay(tenant, scoped, rules, reserved, now), spent)
    if (obstacle !== undefined) {
      return { outcome: 'refused', ...obstacle, figures: tenant.figures(rules, now, scoped) }
    }
    const held = take(tenant, id, reserved, relieved?.by)
    if (scoped.length > 0) takeScoped(held, scoped)
    rate(held, rules, now)
    this.#lease(held, now)
    this.#held.add(held)
    held.downgradedScope = relieved?.scope
    return admitted(held, rules, scoped, now)
  }

  /** Counts a request that another store has admitted: its slot, its hold and, if `isRated`, its charge to the rates. */
  adopt(request: AdmitRequest, { reserved, downgradedBy, isRated }: Adopted): void {
    const { tenant, id, rules, ratesOnly } = request
    const now = this.#now()
    const entered = this.#enter(tenant, now, this.#clock.wall())
    if (ratesOnly === true) {
      if (isRated) rateIn(entered, rules, 0, now)
      return
    }
    if (this.#held.get(id) !== undefined) return
    const held = take(entered, id, sane(reserved), downgradedBy)
    if (rules.scoped !== undefined) takeScoped(held, this.#accounts.scoped(rules, now))
    if (isRated) rate(held, rules, now)
    this.#lease(held, now)
    this.#held.add(held)
  }

  extend({ id, budget, scoped = [], estimate, isCount = false }: Extension): boolean {
    const now = this.#now()
    this.#expire(now)
    const held = this.#held.get(id)
    if (held === undefined) return false
    const wanted = larger(held.reserved, sane(estimate))
    if (isCount) lower(held, sane(estimate), now)
    else if (mayRaise(held, wanted, { budget, scoped })) update(held, wanted, held.used)
    else return false
    return true
  }

  renew(beats: readonly Beat[]): readonly string[] {
    const now = this.#now()
    this.#expire(now)
    const lost: string[] = []
    for (const { id, used } of beats) {
      const held = this.#held.get(id)
      if (held === undefined) {
        lost.push(id)
        continue
      }
      this.#beat(held, larger(held.used, sane(used)))
      this.#lease(held, now)
    }
    this.#forget(now)
    return lost
  }

  settle({ id, used, budget, scoped = [] }: Settling): Settlement {
    const now = this.#now()
    this.#expire(now)
    const running = this.#held.get(id)
    const held = running ?? this.#expired.get(id)
    if (held === undefined) return ALREADY_CHARGED
    if (running !== undefined) this.#release(held)
    else this.#stopAwaiting(held)
    this.#charge(held, sane(used), now)
    if (scoped.length === 0 && (budget?.alertThresholds.length ?? 0) === 0) return CHARGED
    const { day, month, tenant } = held
    const crossed = crossings({ day, month, tenant }, budget, this.#onChange)
    for (const hold of held.scoped) {
      const rule = scoped.find(({ scope }) => scope.id === hold.scope.id)?.rule
      crossed.push(...crossings({ ...hold, tenant }, rule, this.#onChange))
    }
    return { charged: true, crossed }
  }

  read(tenant: string, rules: Rules): Figures {
    const now = this.#now()
    this.#toPresent(now, this.#clock.wall())
    const asked = this.#accounts.seen(tenant)
    asked.obey(rules, now)
    return asked.figures(rules, now, this.#accounts.scoped(rules, now))
  }

  /** A tenant in its present windows. */
  tenant(name: string): Tenant {
    return this.#enter(name, this.#now(), this.#clock.wall())
  }

  /** The counter of a group, a key or a limit, in the present. */
  account(scope: BudgetScope): Account {
    const now = this.#now()
    this.#toPresent(now, this.#clock.wall())
    return this.#accounts.of(scope, now)
  }

  /** Whole milliseconds, so that the buckets' arithmetic is exact. */
  #now(): number {
    return Math.floor(this.#clock.now())
  }

  #enter(name: string, now: number, wall: number): Tenant {
    this.#toPresent(now, wall)
    return this.#accounts.enter(name)
  }

  #toPresent(now: number, wall: number): void {
    this.#expire(now)
    this.#accounts.moveTo(wall)
  }

  #lease(held: MemoryLease, now: number): void {
    held.expiresAt = now + LEASE_MS
    held.turn = ++this.#turns
    if (held.expiresAt < this.#expiryAt) this.#expiryAt = held.expiresAt
  }

  /** Checks all leases only when the oldest lease of the last check is due, which is every few seconds. */
  #expire(now: number): void {
    if (now < this.#expiryAt) return
    this.#expiryAt = Number.POSITIVE_INFINITY
    const due = []
    for (const held of this.#held.list()) {
      if (held.expiresAt <= now) due.push(held)
      else this.#expiryAt = Math.min(this.#expiryAt, held.expiresAt)
    }
    for (const held of due.sort((one, other) => one.turn - other.turn)) {
      this.#release(held)
      this.#charge(held, held.used, now)
      this.#await(held)
    }
  }

  #release(held: MemoryLease): void {
    this.#held.remove(held)
    release(held)
  }

  #await(held: MemoryLease): void {
    this.#expired.set(held.id, held)
    awaits(held, 1)
    if (this.#expired.size <= EXPIRED_MAX) return
    for (const oldest of this.#expired.values()) {
      this.#stopAwaiting(oldest)
      return
    }
  }

  #stopAwaiting(held: MemoryLease): void {
    if (this.#expired.delete(held.id)) awaits(held, -1)
  }

  /** Usage beyond the hold is held as well, because it will be charged. */
  #beat(held: MemoryLease, used: Amount): void {
    const { tokens, nanos } = held.used
    update(held, larger(held.reserved, used), used)
    for (const { day, month } of [held, ...held.scoped]) {
      if (used.tokens !== tokens) this.#onChange(day)
      if (used.nanos !== nanos) this.#onChange(month)
    }
  }

  #charge(held: MemoryLease, used: Amount, now: number): void {
    const { settled } = held
    this.#chargeWindows(held, used, settled)
    for (const one of held.scoped) this.#chargeWindows(one, used, settled)
    correctRates(held, used, now)
    held.settled = used
  }

  #chargeWindows({ day, month }: HeldWindows, used: Amount, settled: Amount): void {
    day.charge(used.tokens - settled.tokens)
    month.charge(used.nanos - settled.nanos)
    this.#onChange(day)
    this.#onChange(month)
  }

  #forget(now: number): void {
    if (now < this.#forgetAt) return
    this.#forgetAt = now + FORGET_MS
    this.#accounts.moveTo(this.#clock.wall())
    this.#accounts.forget(now)
  }
}
