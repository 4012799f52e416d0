/** A running request in the accounts of the shared store, and its arguments for scripts. */
import { countedAmount, NOTHING } from '../../accounts/amounts.ts'
import {
  type Amount,
  type BudgetRule,
  type BudgetScope,
  type Crossing,
  LEASE_MS,
  type Rules,
} from '../../accounts/store.ts'
import type { Moment } from '../../accounts/windows.ts'
import { type Account, type AccountWindow, FIGURES, type ScopeAccount } from './redis-accounts.ts'

/** Where the reply to a settlement has the figures of both windows, and after them the alerts. */
export const DAY_AT = 3
export const MONTH_AT = DAY_AT + FIGURES
const ALERTS_AT = { day: DAY_AT, month: MONTH_AT, crossed: MONTH_AT + FIGURES } as const

/** A request that the store counts, or will count after its return. */
export interface RunningRequest extends Part {
  /** The same request in the accounts of its other budgets. */
  readonly others: readonly Part[]
}

/** Its lease in one account. */
export interface Part {
  readonly id: string
  readonly account: Account
  /** Undefined in the account of its tenant. */
  readonly scope: BudgetScope | undefined
  readonly day: AccountWindow
  readonly month: AccountWindow
  /** 0, or the budget that downgraded it: 1 tokens, 2 spend. */
  readonly by: number
  /** Tokens charged to the rate by its admission; -1: none. */
  rated: number
  reserved: Amount
  used: Amount
  /** When the lease was last known to exist, on this process's clock. */
  heardAt: number
  /** Whether the lease expired while the store was reachable, so that another request may have the slot. */
  isLost: boolean
  /** Whether a call to restore the lease was sent, which might still arrive after the request ended. */
  wasPutBack: boolean
  /** The charge of an ended request; the store's answer may still be missing. */
  settled: Amount | undefined
}

/** The facts at the start of a request; the other members start as for a request that the store does not know. */
export type Begun = Pick<Part, 'id' | 'account'> &
  Partial<Pick<Part, 'by' | 'rated' | 'reserved' | 'heardAt' | 'wasPutBack'>> & {
    readonly windows: Moment
    readonly others?: readonly ScopeAccount[] | undefined
  }

export function partOf(
  { id, account, windows, ...known }: Omit<Begun, 'others'>,
  scope: BudgetScope | undefined,
): Part {
  return {
    id,
    account,
    scope,
    ...account.windowsAt(windows),
    by: 0,
    rated: -1,
    reserved: NOTHING,
    used: NOTHING,
    heardAt: 0,
    isLost: false,
    wasPutBack: false,
    settled: undefined,
    ...known,
  }
}

/** The part of an amount that the account counts. */
export function countedIn(scope: BudgetScope | undefined, amount: Amount): Amount {
  return countedAmount(amount, scope?.limit?.counts ?? 'all')
}

/** Notes what the admission of a request poured into the buckets of its accounts. */
export function pour({ account, reserved, others }: RunningRequest, rules: Rules, now: number) {
  account.poured.add(rules, 1, reserved.tokens, now)
  for (const [index, other] of others.entries()) {
    const rates = rules.scoped?.[index]?.rates
    if (rates !== undefined) other.account.poured.add(rates, 1, other.reserved.tokens, now)
  }
}

/** Adds to the totals once, because sending totals twice changes nothing. */
export function count(part: Part, used: Amount): void {
  if (part.settled !== undefined) return
  part.day.add(used.tokens)
  part.month.add(used.nanos)
  part.settled = used
}

export function renewal(running: Part, now: number): readonly (string | number)[] {
  const { id, day, month, reserved, used, rated, by, isLost } = running
  const back = !isLost && now - running.heardAt >= LEASE_MS
  if (back) running.wasPutBack = true
  return [
    ...[id, back ? 1 : 0, day.name, month.name, reserved.tokens, reserved.nanos],
    ...[used.tokens, used.nanos, rated, by],
  ]
}

/** `place`: where the reply has the figures of both windows, and pairs of window and number of the threshold. */
export function crossings(
  { account, scope, day, month }: Pick<Part, 'account' | 'scope' | 'day' | 'month'>,
  budget: BudgetRule | undefined,
  reply: readonly number[],
  place: Readonly<Record<'day' | 'month' | 'crossed', number>> = ALERTS_AT,
): Crossing[] {
  const crossed: Crossing[] = []
  for (let at = place.crossed; at + 1 < reply.length; at += 2) {
    const threshold = budget?.alertThresholds[reply[at + 1] ?? 0] ?? 0
    const isDay = reply[at] === 1
    crossed.push({
      tenant: account.tenant,
      ...(scope && { scope }),
      kind: isDay ? 'tokens' : 'spend',
      window: scope?.limit?.period.per ?? (isDay ? 'day' : 'month'),
      threshold,
      used: reply[isDay ? place.day : place.month] ?? 0,
      limit: (isDay ? budget?.tokensPerDay : budget?.nanosPerMonth) ?? 0,
      resetsAt: (isDay ? day : month).window.resetsAt,
    })
  }
  return crossed
}
