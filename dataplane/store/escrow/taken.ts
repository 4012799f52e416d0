/** The parts of slices that a running request holds. */
import type { AdmitRequest, BudgetRule, Settling } from '../../accounts/store.ts'
import type { Account, ScopeAccount } from '../redis/redis-accounts.ts'
import type { Holding } from './holding.ts'
import type { Hold } from './slice.ts'

/** The part of one slice. */
export interface Taken extends Hold {
  readonly holding: Holding
  readonly slots: number
  /** That of its next account. */
  readonly next: Taken | undefined
}

export interface Running {
  readonly request: AdmitRequest
  readonly taken: Taken
}

/** The accounts of a request, its tenant's first. */
export interface Accounts {
  readonly account: Account
  readonly others?: readonly ScopeAccount[] | undefined
}

/** The budget of the account, as configured now. */
export function ruleIn(
  { holding: { scope } }: Taken,
  { budget, scoped }: Pick<Settling, 'budget' | 'scoped'>,
): BudgetRule | undefined {
  return scope ? scoped?.find((one) => one.scope.id === scope.id)?.rule : budget
}

export function accountsOf({ account, others = [] }: Accounts): Account[] {
  return [account, ...others.map((other) => other.account)]
}

export function stateKeyOf({ keys }: Account): string {
  return keys[0] ?? ''
}
