/** The counters of a history besides those of its tenants. */
import { Period } from '../../dataplane/accounts/period.ts'
import type {
  BudgetRule,
  BudgetScope,
  Measures,
  Rules,
  ScopedBudget,
} from '../../dataplane/accounts/store.ts'
import { aRandom } from '../helpers/random.ts'
import type { Draw } from './network.ts'

export interface Limited {
  readonly rates: Measures
  /** Tokens of the day. */
  readonly rule: BudgetRule | undefined
}

export interface Beside {
  /** Budgets besides those of `rules`: one shared by all tenants, and one for each tenant's key. */
  readonly shared: BudgetRule | undefined
  readonly ofKey: BudgetRule | undefined
  /** A counter of `limits[]` for all tenants. */
  readonly limited: Limited | undefined
}

/** In half of the histories; the rest of a history does not depend on it. */
export function limitedOf(seed: number, toRules: (draw: Draw) => Rules): Limited | undefined {
  const draw = aRandom(seed ^ 0x11417)
  for (let skipped = 0; skipped < 8; skipped++) draw(2)
  if (draw(2) === 0) return undefined
  const { requestsPerMinute, burst, concurrentRequests, budget } = toRules(draw)
  const hasRate = draw(2) === 0
  const rates = {
    ...(hasRate && { requestsPerMinute, burst }),
    ...(draw(3) === 0 && { concurrentRequests }),
  }
  const isBudget = budget?.tokensPerDay !== undefined
  return { rates, rule: isBudget ? { ...budget, nanosPerMonth: undefined } : undefined }
}

const LIMIT: BudgetScope = {
  ...{ kind: 'limit', name: 'all', isNamed: true, id: 'limit all' },
  limit: { holder: 'all', isOfTenant: false, period: new Period('day', 'tokens'), counts: 'all' },
}

/** The rules of a tenant with the budgets that it shares, that of its key, and the limit. */
export function rulesFor(tenant: string, rules: Rules, { shared, ofKey, limited }: Beside): Rules {
  const scoped: ScopedBudget[] = []
  if (ofKey !== undefined) {
    const name = `key-of-${tenant}`
    scoped.push({ scope: { kind: 'key', name, id: `key ${name}` }, rule: ofKey })
  }
  if (shared !== undefined) {
    scoped.push({ scope: { kind: 'group', name: 'all', id: 'group all' }, rule: shared })
  }
  if (limited !== undefined) scoped.push({ scope: LIMIT, ...limited })
  return scoped.length === 0 ? rules : { ...rules, scoped }
}
