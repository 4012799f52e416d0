/** The store of one process: every verb is a few look-ups and sums, and answers at once. */

import type { Clock } from '../../base/clock.ts'
import { reachedThresholds } from '../../budgets/alerts.ts'
import { Present } from '../../budgets/windows.ts'
import { larger, sane } from '../amounts.ts'
import {
  type AdmitRequest,
  type AdmitResult,
  type Amount,
  type Beat,
  type BudgetRule,
  type Crossing,
  type Extension,
  type Figures,
  LEASE_MS,
  type Rules,
  type Settlement,
  type Settling,
  type Store,
} from '../contract.ts'
import { budgetInTheWay, limitInTheWay, longer, mayRaise, spentBudget } from './judgement.ts'
import { type MemoryLease, rate, take, update } from './lease.ts'
import { LeaseTable } from './lease-table.ts'
import type { Ledger } from './ledger.ts'
import { Tenant } from './tenant.ts'

/** Expired holds that are remembered, so that a late settlement corrects what they were charged. */
const EXPIRED_MAX = 10_000

/** How often idle tenants are looked for. */
const FORGET_MS = 3_600_000

const CHARGED: Settlement = { charged: true, crossed: [] }
const ALREADY_CHARGED: Settlement = { charged: false, crossed: [] }

/** The unit of each window. */
const KINDS = { day: 'tokens', month: 'spend' } as const

export interface MemoryOptions {
  readonly clock: Clock
  /** Ledgers of an earlier life, by tenant. */
  readonly restored?: ReadonlyMap<string, readonly Ledger[]>
  /** Called for each ledger whose `used` or `alerted` has changed. */
  readonly onChange?: (ledger: Ledger) => void
}

/** How another store has admitted a request. */
export interface Adopted {
  readonly reserved: Amount
  readonly downgradedBy: MemoryLease['downgradedBy']
  readonly isRated: boolean
}

export class MemoryStore implements Store {
  readonly #clock: Clock
  readonly #present: Present
  readonly #restored: Map<string, readonly Ledger[]>
  readonly #onChange: (ledger: Ledger) => void
  readonly #tenants = new Map<string, Tenant>()
  readonly #held = new LeaseTable()
  readonly #expired = new Map<string, MemoryLease>()
  /** No lease expires before. */
  #expiryAt = Number.POSITIVE_INFINITY
  #turns = 0
  #forgetAt: number

  constructor({ clock, restored = new Map(), onChange = () => {} }: MemoryOptions) {
    this.#clock = clock
    this.#present = new Present(clock.wall())
    this.#restored = new Map(restored)
    this.#onChange = onChange
    this.#forgetAt = this.#now() + FORGET_MS
  }

  admit(request: AdmitRequest): AdmitResult {
    const { rules, id } = request
    const now = this.#now()
    const wall = this.#clock.wall()
    const tenant = this.#enter(request.tenant, now, wall)
    tenant.obey(rules, now)
    const again = this.#held.get(id)
    if (again !== undefined) return admitted(again, rules, now)
    const spent = spentBudget(tenant, rules)
    const cheaper =
      spent !== undefined && rules.budget?.onExceeded === 'downgrade'
        ? request.downgradeEstimate
        : undefined
    const reserved = sane(cheaper ?? request.estimate)
    const obstacle = longer(
      limitInTheWay(tenant, rules, reserved, now),
      budgetInTheWay(tenant, rules, cheaper === undefined ? spent : undefined, wall),
    )
    if (obstacle !== undefined) {
      const { by, retryAfterMs } = obstacle
      return { outcome: 'refused', by, retryAfterMs, figures: tenant.figures(rules, now) }
    }
    const held = take(tenant, id, reserved, cheaper === undefined ? undefined : spent)
    rate(held, rules, now)
    this.#lease(held, now)
    this.#held.add(held)
    return admitted(held, rules, now)
  }

  /** Counts a request that another store has admitted: its slot, its hold and, if `isRated`, what it takes of the rates. */
  adopt({ tenant, id, rules }: AdmitRequest, { reserved, downgradedBy, isRated }: Adopted): void {
    const now = this.#now()
    const entered = this.#enter(tenant, now, this.#clock.wall())
    if (this.#held.get(id) !== undefined) return
    const held = take(entered, id, sane(reserved), downgradedBy)
    if (isRated) rate(held, rules, now)
    this.#lease(held, now)
    this.#held.add(held)
  }

  extend({ id, budget, estimate }: Extension): boolean {
    this.#expire(this.#now())
    const held = this.#held.get(id)
    if (held === undefined) return false
    const wanted = larger(held.reserved, sane(estimate))
    if (!mayRaise(held, wanted, budget)) return false
    update(held, wanted, held.used)
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

  settle({ id, used, budget }: Settling): Settlement {
    const now = this.#now()
    this.#expire(now)
    const running = this.#held.get(id)
    const held = running ?? this.#expired.get(id)
    if (held === undefined) return ALREADY_CHARGED
    if (running !== undefined) this.#release(held)
    else this.#stopAwaiting(held)
    this.#charge(held, sane(used), now)
    if (budget === undefined || budget.alertThresholds.length === 0) return CHARGED
    return { charged: true, crossed: this.#crossings(held, budget) }
  }

  read(tenant: string, rules: Rules): Figures {
    const now = this.#now()
    this.#toPresent(now, this.#clock.wall())
    // Reading leaves nothing behind: a scrape reads every tenant with a budget, and there may be ten thousand.
    const asked = this.#tenants.get(tenant) ?? this.#begin(tenant)
    asked.moveTo(this.#present)
    asked.obey(rules, now)
    return asked.figures(rules, now)
  }

  /** A tenant, in its windows of now. */
  tenant(name: string): Tenant {
    return this.#enter(name, this.#now(), this.#clock.wall())
  }

  /** Whole milliseconds, so that the buckets' arithmetic is exact. */
  #now(): number {
    return Math.floor(this.#clock.now())
  }

  #enter(name: string, now: number, wall: number): Tenant {
    this.#toPresent(now, wall)
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = this.#begin(name)
      this.#restored.delete(name)
      this.#tenants.set(name, tenant)
    }
    tenant.moveTo(this.#present)
    return tenant
  }

  #begin(name: string): Tenant {
    return new Tenant(name, this.#present, this.#restored.get(name) ?? [])
  }

  #toPresent(now: number, wall: number): void {
    this.#expire(now)
    this.#present.moveTo(wall)
  }

  #lease(held: MemoryLease, now: number): void {
    held.expiresAt = now + LEASE_MS
    held.turn = ++this.#turns
    if (held.expiresAt < this.#expiryAt) this.#expiryAt = held.expiresAt
  }

  /** Looks at all only when the oldest lease that was there at the last look is due: every few seconds. */
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
    const { tenant, day, month, reserved, used } = held
    tenant.running--
    day.release(reserved.tokens, used.tokens)
    month.release(reserved.nanos, used.nanos)
  }

  #await(held: MemoryLease): void {
    this.#expired.set(held.id, held)
    held.tenant.awaited++
    if (this.#expired.size <= EXPIRED_MAX) return
    for (const oldest of this.#expired.values()) {
      this.#stopAwaiting(oldest)
      return
    }
  }

  #stopAwaiting(held: MemoryLease): void {
    if (this.#expired.delete(held.id)) held.tenant.awaited--
  }

  /** Usage beyond the hold is held as well: it will be charged. */
  #beat(held: MemoryLease, used: Amount): void {
    const { tokens, nanos } = held.used
    update(held, larger(held.reserved, used), used)
    if (used.tokens !== tokens) this.#onChange(held.day)
    if (used.nanos !== nanos) this.#onChange(held.month)
  }

  #charge(held: MemoryLease, used: Amount, now: number): void {
    const { day, month, settled, rated, tenant } = held
    day.charge(used.tokens - settled.tokens)
    month.charge(used.nanos - settled.nanos)
    if (rated !== undefined) {
      tenant.tokens?.charge(used.tokens - rated, now)
      held.rated = used.tokens
    }
    held.settled = used
    this.#onChange(day)
    this.#onChange(month)
  }

  #crossings({ day, month, tenant }: MemoryLease, budget: BudgetRule): Crossing[] {
    const crossed = []
    for (const ledger of [day, month]) {
      const { kind, resetsAt } = ledger.window
      const limit = kind === 'day' ? budget.tokensPerDay : budget.nanosPerMonth
      if (limit === undefined) continue
      const used = ledger.settled
      const reached = reachedThresholds(budget, { used, limit }, ledger.alerted)
      if (reached.length === 0) continue
      ledger.alerted = [...ledger.alerted, ...reached]
      this.#onChange(ledger)
      const about = { tenant: tenant.name, kind: KINDS[kind], window: kind, used, limit, resetsAt }
      for (const threshold of reached) crossed.push({ ...about, threshold })
    }
    return crossed
  }

  #forget(now: number): void {
    if (now < this.#forgetAt) return
    this.#forgetAt = now + FORGET_MS
    this.#present.moveTo(this.#clock.wall())
    for (const [name, tenant] of this.#tenants) {
      if (tenant.isIdle(this.#present, now)) this.#tenants.delete(name)
    }
  }
}

function admitted({ tenant, downgradedBy }: MemoryLease, rules: Rules, now: number): AdmitResult {
  const figures = tenant.figures(rules, now)
  return downgradedBy === undefined
    ? { outcome: 'admitted', figures }
    : { outcome: 'downgraded', by: downgradedBy, figures }
}
