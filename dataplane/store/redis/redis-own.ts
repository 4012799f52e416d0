/** One running request of this process in the shared store, and what scripts are told of it and tell. */
import { type Amount, type BudgetRule, type Crossing, LEASE_MS } from '../contract.ts'
import type { Account, Share } from './redis-accounts.ts'

/** A request that the store counts, or that it will have to count. */
export interface Own {
  readonly id: string
  readonly account: Account
  readonly day: Share
  readonly month: Share
  /** 0, or what downgraded it: 1 tokens, 2 spend. */
  readonly by: number
  /** Tokens charged to the rate by its admission; -1: none. */
  readonly rated: number
  reserved: Amount
  used: Amount
  /** When its lease was last known to live, on this process's clock. */
  heardAt: number
  /** Its lease expired while the store could be asked: somebody else may have its slot. */
  isLost: boolean
  /** It was sent to be put back, so that call might still arrive after its end. */
  wasPutBack: boolean
  /** What it was charged, once it has ended; its answer may still be missing. */
  settled: Amount | undefined
}

export function renewal(own: Own, now: number): readonly (string | number)[] {
  const { id, day, month, reserved, used, rated, by, isLost } = own
  const back = !isLost && now - own.heardAt >= LEASE_MS
  if (back) own.wasPutBack = true
  return [
    ...[id, back ? 1 : 0, day.name, month.name, reserved.tokens, reserved.nanos],
    ...[used.tokens, used.nanos, rated, by],
  ]
}

export function crossings(
  { account, day, month }: Own,
  budget: BudgetRule | undefined,
  reply: readonly number[],
): Crossing[] {
  const crossed: Crossing[] = []
  for (let at = 11; at + 1 < reply.length; at += 2) {
    const threshold = budget?.alertThresholds[reply[at + 1] ?? 0] ?? 0
    const isDay = reply[at] === 1
    crossed.push({
      tenant: account.tenant,
      kind: isDay ? 'tokens' : 'spend',
      window: isDay ? 'day' : 'month',
      threshold,
      used: reply[isDay ? 3 : 7] ?? 0,
      limit: (isDay ? budget?.tokensPerDay : budget?.nanosPerMonth) ?? 0,
      resetsAt: (isDay ? day : month).window.resetsAt,
    })
  }
  return crossed
}
