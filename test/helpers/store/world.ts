/** A store on a test clock, and tenants' rules with valid defaults. */
import type { AdmitResult, Amount, BudgetRule, Rules } from '../../../dataplane/accounts/store.ts'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { aClock, type TurnedClock } from '../clock.ts'

/** Rules that limit nothing, except the given ones. */
export function aRule(given: Partial<Rules> = {}): Rules {
  return {
    requestsPerMinute: 1_000_000,
    burst: 1_000_000,
    concurrentRequests: 1_000_000,
    tokensPerMinute: undefined,
    budget: undefined,
    ...given,
  }
}

export function aBudget(given: Partial<BudgetRule> = {}): BudgetRule {
  return {
    tokensPerDay: undefined,
    nanosPerMonth: undefined,
    onExceeded: 'reject',
    alertThresholds: [],
    ...given,
  }
}

export function tokens(count: number): Amount {
  return { tokens: count, nanos: 0 }
}

export function nanos(count: number): Amount {
  return { tokens: 0, nanos: count }
}

/** One tenant of a memory store, in fewer words. */
export class World {
  readonly clock: TurnedClock
  readonly store: MemoryStore
  rules: Rules
  #ids = 0

  constructor(rules: Rules, clock = aClock()) {
    this.clock = clock
    this.rules = rules
    this.store = new MemoryStore({ clock })
  }

  admit(
    estimate: Amount = tokens(0),
    downgradeEstimate?: Amount,
  ): AdmitResult & { readonly id: string } {
    const id = `r${this.#ids++}`
    const { rules } = this
    return { id, ...this.store.admit({ tenant: 'acme', id, rules, estimate, downgradeEstimate }) }
  }

  settle(id: string, used: Amount = tokens(0)) {
    return this.store.settle({ tenant: 'acme', id, used, budget: this.rules.budget })
  }

  beat(id: string, used: Amount = tokens(0)) {
    return this.store.renew([{ tenant: 'acme', id, used }])
  }

  extend(id: string, estimate: Amount) {
    return this.store.extend({ tenant: 'acme', id, estimate, budget: this.rules.budget })
  }

  get figures() {
    return this.store.read('acme', this.rules)
  }

  /** Sends and settles a request at once. */
  use(used: Amount) {
    return this.settle(this.admit(used).id, used)
  }
}

/** `admitted`, `downgraded`, or the reason of a refusal. */
export function verdict(result: AdmitResult): string {
  return result.outcome === 'refused' ? result.by : result.outcome
}
