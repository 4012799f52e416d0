/** Asks for a decision and for how a tenant stands: one script call, over one account or over all that a request is in. */
import type { Clock } from '../../base/clock.ts'
import { sane } from '../amounts.ts'
import type { AdmitRequest, AdmitResult, Amount, BudgetRule, Rules } from '../contract.ts'
import type { Account } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import { admission, budgetFiguresOf, figuresOf, type Windows, windowsIn } from './redis-replies.ts'
import type { ScopeAccount } from './request-part.ts'
import { ADMIT, type READ } from './scripts/admit.ts'
import { ADMIT_ALL } from './scripts/admit-all.ts'

/** In place of a cap or an estimate that is not there. */
export const NO_CAP = -1

export interface Decided {
  readonly result: AdmitResult
  readonly present: Windows
  /** 0, or the kind of budget that downgraded it: 1 tokens, 2 spend. */
  readonly by: number
}

export type Arguments = readonly (string | number)[]

export interface Tenancy {
  readonly account: Account
  readonly rules: Rules
}

export interface Answered {
  readonly reply: readonly number[]
  readonly present: Windows
}

export class Asking {
  readonly #calls: Calls
  readonly #clock: Clock

  constructor(calls: Calls, clock: Clock) {
    this.#calls = calls
    this.#clock = clock
  }

  /** A request that has no budget but its tenant's. */
  async admitAlone(tenancy: Tenancy, own: Arguments): Promise<Decided> {
    const { reply, present } = await this.ask(ADMIT, tenancy, own)
    const result = admission(reply, figuresOf(reply, tenancy.rules, present))
    return { result, present, by: (reply[0] ?? 1) - 1 }
  }

  /** One call over the accounts of all budgets: nothing is charged in one that another refuses. */
  async admitOverAll(
    { account, rules, others }: Tenancy & { readonly others: readonly ScopeAccount[] },
    own: Arguments,
  ): Promise<Decided> {
    const { scoped = [] } = rules
    const tenancies = [
      { account, rules },
      ...others.map((one, index) => ({
        account: one.account,
        rules: rulesOfScope(scoped[index]?.rule),
      })),
    ]
    let present: Windows = this.#calls.present
    const reply = await this.#calls.runOverAll({
      script: ADMIT_ALL,
      own,
      parts: tenancies.map((one) => ({
        account: one.account,
        flag: one.rules.budget?.onExceeded === 'downgrade' ? 1 : 0,
        windows: ({ day, month }) => [one.account.windowFor(day), one.account.windowFor(month)],
        args: ({ day, month }) => {
          present = { day, month }
          return this.#rulesNow(one.account, one.rules, present)
        },
      })),
    })
    // The script answers with the code, the time, the wait, an account's number, and a list for each account.
    const [code, , , which, mine, ...theirs] = reply as readonly [
      number,
      number,
      number,
      number,
      number[],
      ...number[][],
    ]
    for (const [index, part] of tenancies.entries()) {
      this.#hear(part, index === 0 ? mine : (theirs[index - 1] ?? []), present)
    }
    const figures = {
      ...figuresOf(mine, rules, present),
      scoped: others.map(({ scope }, index) => ({
        scope,
        ...budgetFiguresOf(theirs[index] ?? [], scoped[index]?.rule, present),
      })),
    }
    const result = admission(reply.slice(0, 3) as number[], figures, others[which - 2]?.scope)
    return { result, present, by: code - 1 }
  }

  /** Reads, or admits under the rules of one account. */
  async ask(script: typeof READ, { account, rules }: Tenancy, own: Arguments): Promise<Answered> {
    let at: Windows = this.#calls.present
    const reply = await this.#calls.run({
      script,
      account,
      isBounded: true,
      windows: ({ day, month }) => [account.windowFor(day), account.windowFor(month)],
      args: ({ day, month }) => {
        at = { day, month }
        return [...this.#rulesNow(account, rules, at), ...own]
      },
    })
    this.#hear({ account, rules }, reply, at)
    return { reply, present: at }
  }

  #hear({ account, rules }: Tenancy, reply: readonly number[], at: Windows): void {
    const [day, month] = windowsIn(rules.budget)
    const now = this.#clock.now()
    if (day !== undefined) account.windowFor(at.day).hear(reply, day, now)
    if (month !== undefined) account.windowFor(at.month).hear(reply, month, now)
  }

  #rulesNow(account: Account, rules: Rules, { day, month }: Windows): Arguments {
    const { requestsPerMinute, burst, concurrentRequests, tokensPerMinute, budget } = rules
    const now = this.#clock.now()
    return [
      ...[day.startsAt, day.resetsAt, month.resetsAt],
      ...[requestsPerMinute, burst, concurrentRequests, tokensPerMinute ?? NO_CAP],
      ...[budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP],
      ...account.windowFor(day).seen(now),
      ...account.windowFor(month).seen(now),
    ]
  }
}

/** Rates and slots are the tenant's alone. */
export function rulesOfScope(budget: BudgetRule | undefined): Rules {
  return {
    requestsPerMinute: 1,
    burst: 1,
    concurrentRequests: 1,
    tokensPerMinute: undefined,
    budget,
  }
}

/** The reservation of a downgraded request; below zero where no budget of it downgrades. */
export function cheaperOf({ rules: { budget, scoped }, downgradeEstimate }: AdmitRequest): Amount {
  const mayDowngrade =
    budget?.onExceeded === 'downgrade' ||
    scoped?.some(({ rule }) => rule?.onExceeded === 'downgrade')
  if (!mayDowngrade || downgradeEstimate === undefined) return { tokens: NO_CAP, nanos: NO_CAP }
  return sane(downgradeEstimate)
}
