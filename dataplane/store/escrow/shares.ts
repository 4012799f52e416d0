/** The amounts that a request needs of each of its accounts. */
import type { AdmitRequest, Amount, BudgetRule } from '../../accounts/store.ts'
import type { Account, ScopeAccount } from '../redis/redis-accounts.ts'
import type { Terms } from './holding.ts'
import type { Quantities } from './quantities.ts'

export interface Share extends Pick<ScopeAccount, 'account'> {
  readonly scope: ScopeAccount['scope'] | undefined
  readonly terms: Terms
  readonly need: Readonly<Quantities>
  /** The account of the tenant; others have no rates and slots. */
  readonly isTenant: boolean
}

interface Accounts {
  readonly account: Account
  readonly others?: readonly ScopeAccount[] | undefined
}

/** The account of the tenant first. */
export function sharesOf(
  { rules, estimate }: Pick<AdmitRequest, 'rules' | 'estimate'>,
  { account, others }: Accounts,
): readonly Share[] {
  const rated = rules.tokensPerMinute === undefined ? 0 : estimate.tokens
  const need = { requests: 1, rated, slots: 1, ...needOf(rules.budget, estimate) }
  const own: Share = { account, scope: undefined, terms: rules, need, isTenant: true }
  if (others === undefined) return [own]
  return [
    own,
    ...others.map((other, index): Share => {
      const budget = rules.scoped?.[index]?.rule
      return {
        ...other,
        terms: { ...NO_RATES, budget },
        need: { requests: 0, rated: 0, slots: 0, ...needOf(budget, estimate) },
        isTenant: false,
      }
    }),
  ]
}

const NO_RATES = {
  requestsPerMinute: 1,
  burst: 1,
  concurrentRequests: 1,
  tokensPerMinute: undefined,
}

/** Only counters with a cap are set aside. */
function needOf(budget: BudgetRule | undefined, { tokens, nanos }: Amount): Amount {
  return {
    tokens: budget?.tokensPerDay === undefined ? 0 : tokens,
    nanos: budget?.nanosPerMonth === undefined ? 0 : nanos,
  }
}
