/** The amounts that a request needs of each of its accounts. */
import type {
  AdmitRequest,
  Amount,
  BudgetRule,
  Measures,
  Rules,
  ScopedBudget,
} from '../../accounts/store.ts'
import type { Account, ScopeAccount } from '../redis/redis-accounts.ts'
import { countedIn } from '../redis/request-part.ts'
import { NO_RATES, type Terms } from './holding.ts'
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
      const { rule, rates } = rules.scoped?.[index] ?? NO_LIMITS
      const need = scopedNeed({ scope: other.scope, rule, rates }, estimate, nothing())
      return { ...other, terms: { ...rates, budget: rule }, need }
    }),
  ]
}

const NO_LIMITS = { rule: undefined, rates: undefined }

/** Writes into `need` the amounts that the account of the tenant needs. */
export function tenantNeed(rules: Rules, estimate: Amount, need: Quantities): Quantities {
  return needOf(rules, rules.budget, estimate, need)
}

/** The same of a group, a key or a limit. */
export function scopedNeed(
  { scope, rule, rates = NO_RATES }: ScopedBudget,
  estimate: Amount,
  need: Quantities,
): Quantities {
  return needOf(rates, rule, countedIn(scope, estimate), need)
}

/** Only what has a limit is set aside. */
function needOf(
  { requestsPerMinute, tokensPerMinute, concurrentRequests }: Measures,
  budget: BudgetRule | undefined,
  { tokens, nanos }: Amount,
  need: Quantities,
): Quantities {
  need.requests = requestsPerMinute === undefined ? 0 : 1
  need.rated = tokensPerMinute === undefined ? 0 : tokens
  need.slots = concurrentRequests === undefined ? 0 : 1
  need.tokens = budget?.tokensPerDay === undefined ? 0 : tokens
  need.nanos = budget?.nanosPerMonth === undefined ? 0 : nanos
  return need
}
