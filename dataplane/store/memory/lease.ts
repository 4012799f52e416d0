/** A running request in the memory store. */
import { larger, NOTHING, smaller } from '../../accounts/amounts.ts'
import type { AdmitResult, Amount, BudgetScope, Rules } from '../../accounts/store.ts'
import type { Scoped } from './account.ts'
import type { Ledger } from './ledger.ts'
import type { Tenant } from './tenant.ts'

/** The windows in which a request runs. */
export interface HeldWindows {
  readonly day: Ledger
  readonly month: Ledger
}

/** Windows of a group or a key. */
export interface ScopedHold extends HeldWindows {
  readonly scope: BudgetScope
}

const NO_HOLDS: readonly ScopedHold[] = []

/** A running request: its slot, its holds in windows, and its usage so far. */
export interface MemoryLease extends HeldWindows {
  readonly id: string
  readonly tenant: Tenant
  /** Its holds in the budgets of groups and keys. */
  scoped: readonly ScopedHold[]
  /** Why the request runs on the downgrade route, if it does. */
  readonly downgradedBy: 'budget_tokens' | 'budget_spend' | undefined
  /** The budget that downgraded the request, if it is not the tenant's own. */
  downgradedScope: BudgetScope | undefined
  expiresAt: number
  /** Increases with every renewal of any request: the lease with the oldest renewal expires first. */
  turn: number
  /** Its neighbour in the table of all. */
  next: MemoryLease | undefined
  reserved: Amount
  used: Amount
  /** The amount that was settled; zero until the lease expires. */
  settled: Amount
  /** Tokens charged to the bucket of tokens_per_minute, if there was one when it was admitted. */
  rated: number | undefined
}

/** Takes the slot and the hold of a request; the caller adds the lease to its table. */
export function take(
  tenant: Tenant,
  id: string,
  reserved: Amount,
  downgradedBy: MemoryLease['downgradedBy'],
): MemoryLease {
  const { day, month } = tenant
  tenant.running++
  day.hold(reserved.tokens)
  month.hold(reserved.nanos)
  return {
    id,
    tenant,
    day,
    month,
    scoped: NO_HOLDS,
    downgradedBy,
    downgradedScope: undefined,
    expiresAt: 0,
    turn: 0,
    next: undefined,
    reserved,
    used: NOTHING,
    settled: NOTHING,
    rated: undefined,
  }
}

/** The same for the budgets of groups and keys. */
export function takeScoped(held: MemoryLease, scoped: readonly Scoped[]): void {
  held.scoped = scoped.map(({ scope, account: { day, month } }) => ({ scope, day, month }))
  for (const { day, month } of held.scoped) {
    day.hold(held.reserved.tokens)
    month.hold(held.reserved.nanos)
  }
}

/** Charges the buckets for a request, with the tokens that it reserved. */
export function rate(held: MemoryLease, { tokensPerMinute }: Rules, now: number): void {
  const { tenant, reserved } = held
  tenant.requests.charge(1, now)
  if (tokensPerMinute === undefined) return
  tenant.tokens?.charge(reserved.tokens, now)
  held.rated = reserved.tokens
}

/** Changes the hold and the usage of a running request. */
export function update(held: MemoryLease, reserved: Amount, used: Amount): void {
  adjust(held, held, reserved, used)
  for (const one of held.scoped) adjust(one, held, reserved, used)
  held.reserved = reserved
  held.used = used
}

/** Releases the part of a hold beyond a count, and the same part of the token rate. */
export function lower(held: MemoryLease, counted: Amount, now: number): void {
  const { reserved, used, rated, tenant } = held
  update(held, smaller(reserved, larger(counted, used)), used)
  if (rated === undefined) return
  held.rated = Math.min(rated, held.reserved.tokens)
  tenant.tokens?.charge(held.rated - rated, now)
}

/** Releases the slot and the holds of a request. */
export function release(held: MemoryLease): void {
  giveBack(held, held)
  for (const one of held.scoped) giveBack(one, held)
}

function giveBack({ day, month }: HeldWindows, { reserved, used }: MemoryLease): void {
  day.release(reserved.tokens, used.tokens)
  month.release(reserved.nanos, used.nanos)
}

function adjust(
  { day, month }: HeldWindows,
  before: Pick<MemoryLease, 'reserved' | 'used'>,
  reserved: Amount,
  used: Amount,
): void {
  day.adjust(reserved.tokens - before.reserved.tokens, used.tokens - before.used.tokens)
  month.adjust(reserved.nanos - before.reserved.nanos, used.nanos - before.used.nanos)
}

/** The answer to an admission. */
export function admitted(
  { tenant, downgradedBy: by, downgradedScope: scope }: MemoryLease,
  rules: Rules,
  scoped: readonly Scoped[],
  now: number,
): AdmitResult {
  const figures = tenant.figures(rules, now, scoped)
  if (by === undefined) return { outcome: 'admitted', figures }
  return { outcome: 'downgraded', by, ...(scope && { scope }), figures }
}
