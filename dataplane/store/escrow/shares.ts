/** The amounts that a request needs of each of its accounts. */
import type { AdmitRequest, Amount, BudgetRule, Rules } from '../../accounts/store.ts'
import type { Account, ScopeAccount } from '../redis/redis-accounts.ts'
import type { Terms } from './holding.ts'
import { nothing, type Quantities } from './quantities.ts'

export interface Share extends Pick<ScopeAccount, 'account'> {
  readonly scope: ScopeAccount['scope'] | undefined
  readonly terms: Terms
  readonly need: Readonly<Quantities>
}

interface Accounts {
  readonly account: Account
  readonly others?: readonly ScopeAccount[] | undefined
}

/** The account of the tenant first. */
export function sharesOf(
  { rules, estimate }: Pick<AdmitRequest, 'rules' | 'estimate'>,
  { account, others = [] }: Accounts,
): readonly Share[] {
  const need = tenantNeed(rules, estimate, nothing())
  return [
    { account, scope: undefined, terms: rules, need },
    ...others.map((other, index): Share => {
      const budget = rules.scoped?.[index]?.rule
      const terms = { ...NO_RATES, budget }
      return { ...other, terms, need: budgetNeed(budget, estimate, nothing()) }
    }),
  ]
}

const NO_RATES = {
  requestsPerMinute: 1,
  burst: 1,
  concurrentRequests: 1,
  tokensPerMinute: undefined,
}

/** Writes into `need` the amounts that the account of the tenant needs. */
export function tenantNeed(rules: Rules, estimate: Amount, need: Quantities): Quantities {
  budgetNeed(rules.budget, estimate, need)
  need.requests = 1
  need.rated = rules.tokensPerMinute === undefined ? 0 : estimate.tokens
  need.slots = 1
  return need
}

/** The same of a group or a key, which has no rates and slots. Only what has a cap is set aside. */
export function budgetNeed(
  budget: BudgetRule | undefined,
  { tokens, nanos }: Amount,
  need: Quantities,
): Quantities {
  need.requests = 0
  need.rated = 0
  need.slots = 0
  need.tokens = budget?.tokensPerDay === undefined ? 0 : tokens
  need.nanos = budget?.nanosPerMonth === undefined ? 0 : nanos
  return need
}
