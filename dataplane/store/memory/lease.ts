/** A running request in the memory store. */
import { larger, NOTHING, smaller, tokensOf } from '../../accounts/amounts.ts'
import type { AdmitResult, Amount, BudgetScope, Measures, Rules } from '../../accounts/store.ts'
import type { Account, Scoped } from './account.ts'
import type { Ledger } from './ledger.ts'
import type { Tenant } from './tenant.ts'

/** The windows in which a request runs. */
export interface HeldWindows {
  readonly day: Ledger
  readonly month: Ledger
}

/** The part of a running request in the counter of a group, a key or a limit. */
export interface ScopedHold extends HeldWindows {
  readonly scope: BudgetScope
  readonly account: Account
  readonly rates: Measures | undefined
  /** As that of the lease. */
  rated: number | undefined
}

const NO_HOLDS: readonly ScopedHold[] = []

/** A running request: its slot, its holds in windows, and its usage so far. */
export interface MemoryLease extends HeldWindows {
  readonly id: string
  readonly tenant: Tenant
  /** Its holds in the counters of groups, keys and limits. */
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

/** An admission by another store. */
export interface Adopted {
  readonly reserved: Amount
  readonly downgradedBy: MemoryLease['downgradedBy']
  readonly isRated: boolean
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

/** The same for the counters of groups, keys and limits. */
export function takeScoped(held: MemoryLease, scoped: readonly Scoped[]): void {
  held.scoped = scoped.map(({ scope, rates, account }) => {
    const { day, month } = account
    account.running++
    day.hold(held.reserved.tokens)
    month.hold(held.reserved.nanos)
    return { scope, account, rates, day, month, rated: undefined }
  })
}

/** Charges the buckets for a request, with the tokens that it reserved. */
export function rate(held: MemoryLease, rules: Rules, now: number): void {
  const { tenant, reserved } = held
  held.rated = rateIn(tenant, rules, reserved.tokens, now)
  for (const one of held.scoped) {
    if (one.rates === undefined) continue
    one.rated = rateIn(one.account, one.rates, countedIn(one, reserved), now)
  }
}

/** Charges the buckets of one counter. Returns the tokens that were charged; undefined if no rule limits them. */
export function rateIn(
  { requests, tokens }: Account,
  { requestsPerMinute, tokensPerMinute }: Measures,
  reserved: number,
  now: number,
): number | undefined {
  if (requestsPerMinute !== undefined) requests?.charge(1, now)
  if (tokensPerMinute === undefined) return undefined
  tokens?.charge(reserved, now)
  return reserved
}

/** The tokens that the counter counts. */
function countedIn({ scope }: ScopedHold, amount: Amount): number {
  return tokensOf(amount, scope.limit?.counts ?? 'all')
}

/** The charge of an estimate becomes that of the usage. */
export function correctRates(held: MemoryLease, used: Amount, now: number): void {
  held.rated = corrected(held.tenant, held.rated, used.tokens, now)
  for (const one of held.scoped)
    one.rated = corrected(one.account, one.rated, countedIn(one, used), now)
}

function corrected(
  { tokens }: Account,
  rated: number | undefined,
  used: number,
  now: number,
): number | undefined {
  if (rated === undefined) return undefined
  // Also a charge of nothing: the time until now leaks at the rate of now, even if the next rule is another one.
  tokens?.charge(used - rated, now)
  return used
}

/** Changes the hold and the usage of a running request. */
export function update(held: MemoryLease, reserved: Amount, used: Amount): void {
  adjust(held, held, reserved, used)
  for (const one of held.scoped) adjust(one, held, reserved, used)
  held.reserved = reserved
  held.used = used
}

/** Releases the part of a hold beyond a count, and the same part of the token rates. */
export function lower(held: MemoryLease, counted: Amount, now: number): void {
  update(held, smaller(held.reserved, larger(counted, held.used)), held.used)
  const { tenant, rated, reserved } = held
  held.rated = corrected(tenant, rated, least(rated, reserved.tokens), now)
  for (const one of held.scoped)
    one.rated = corrected(one.account, one.rated, least(one.rated, countedIn(one, reserved)), now)
}

function least(rated: number | undefined, counted: number): number {
  return Math.min(rated ?? 0, counted)
}

/** Releases the slots and the holds of a request. */
export function release(held: MemoryLease): void {
  held.tenant.running--
  giveBack(held, held)
  for (const one of held.scoped) {
    one.account.running--
    giveBack(one, held)
  }
}

/** Notes that a settlement of an expired request may arrive, or that it did (-1). */
export function awaits(held: MemoryLease, change: 1 | -1): void {
  held.tenant.awaited += change
  for (const { account } of held.scoped) account.awaited += change
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
