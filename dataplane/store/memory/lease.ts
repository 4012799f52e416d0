/** A running request in the memory store. */
import { NOTHING } from '../amounts.ts'
import type { Amount, Rules } from '../contract.ts'
import type { Ledger } from './ledger.ts'
import type { Tenant } from './tenant.ts'

/** A running request: its slot, what it holds in which windows, and what it has used so far. */
export interface MemoryLease {
  readonly id: string
  readonly tenant: Tenant
  readonly day: Ledger
  readonly month: Ledger
  /** Why it runs on the downgrade route, if it does. */
  readonly downgradedBy: 'budget_tokens' | 'budget_spend' | undefined
  expiresAt: number
  /** Rises with every renewal of any request: the one renewed longest ago expires first. */
  turn: number
  /** Its neighbour in the table of all. */
  next: MemoryLease | undefined
  reserved: Amount
  used: Amount
  /** Settled already: nothing before the lease expired. */
  settled: Amount
  /** Tokens charged to the bucket of tokens_per_minute, if there was one when it was admitted. */
  rated: number | undefined
}

/** Gives a request its slot and its hold; the caller puts it into its table. */
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
    downgradedBy,
    expiresAt: 0,
    turn: 0,
    next: undefined,
    reserved,
    used: NOTHING,
    settled: NOTHING,
    rated: undefined,
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

/** Changes what a running request holds and has used. */
export function update(held: MemoryLease, reserved: Amount, used: Amount): void {
  const { day, month } = held
  day.adjust(reserved.tokens - held.reserved.tokens, used.tokens - held.used.tokens)
  month.adjust(reserved.nanos - held.reserved.nanos, used.nanos - held.used.nanos)
  held.reserved = reserved
  held.used = used
}
