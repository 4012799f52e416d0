/**
 * Requests decisions and figures from Redis with one script call, over one account or over all accounts of a request.
 * Requests of one turn of the event loop under the same rules of one account are decided by one call, in their order.
 */

import { sane } from '../../accounts/amounts.ts'
import type { AdmitRequest, AdmitResult, Amount, BudgetRule, Rules } from '../../accounts/store.ts'
import type { Clock } from '../../base/clock.ts'
import { TurnGroups } from '../../base/turn-end.ts'
import type { Account } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import {
  admission,
  budgetFiguresOf,
  decisionAt,
  figuresOf,
  isHeldBack,
  type Windows,
  windowsIn,
} from './redis-replies.ts'
import type { ScopeAccount } from './request-part.ts'
import { ADMIT, type READ } from './scripts/admit.ts'
import { ADMIT_ALL } from './scripts/admit-all.ts'

/** Stands for a missing cap or estimate. */
export const NO_CAP = -1

export interface Decided {
  readonly result: AdmitResult
  readonly present: Windows
  /** 0, or the kind of budget that downgraded it: 1 tokens, 2 spend. */
  readonly by: number
  /** Refused only because of slices, which their holders give back now. */
  readonly isHeldBack: boolean
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

interface Admission extends Tenancy {
  readonly own: Arguments
}

/** A script must not keep the server for long. */
const TOGETHER_MAX = 100

export class Asking {
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #gathered: TurnGroups<Account, Admission, readonly Decided[]>

  constructor(calls: Calls, clock: Clock) {
    this.#calls = calls
    this.#clock = clock
    const haveRulesInCommon = (first: Admission, other: Admission) => first.rules === other.rules
    this.#gathered = new TurnGroups(TOGETHER_MAX, haveRulesInCommon, (all) => this.#admit(all))
  }

  /** Admits a request that has only its tenant's budget. */
  async admitAlone({ account, rules }: Tenancy, own: Arguments): Promise<Decided> {
    const { sent, place } = this.#gathered.add(account, { account, rules, own })
    const decided = (await sent)[place]
    if (decided === undefined) throw new TypeError('The store decided on fewer than it was asked.')
    return decided
  }

  /** Admits all requests in one call; they have the same rules. */
  async #admit(all: readonly Admission[]): Promise<readonly Decided[]> {
    const [tenancy] = all
    if (tenancy === undefined) return []
    const { rules } = tenancy
    const own = all.length === 1 ? tenancy.own : all.flatMap((one) => one.own)
    const { reply, present } = await this.ask(ADMIT, tenancy, own)
    return all.map((_, place) => {
      const decision = place === 0 ? reply : decisionAt(place, reply, rules.budget)
      const result = admission(decision, figuresOf(decision, rules, present))
      const [code = 1] = decision
      return { result, present, by: code - 1, isHeldBack: isHeldBack(code) }
    })
  }

  /** One call over the accounts of all budgets: if one refuses, none is charged. */
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
    return { result, present, by: code - 1, isHeldBack: isHeldBack(code) }
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

/** Only a tenant has rates and slots. */
export function rulesOfScope(budget: BudgetRule | undefined): Rules {
  return {
    requestsPerMinute: 1,
    burst: 1,
    concurrentRequests: 1,
    tokensPerMinute: undefined,
    budget,
  }
}

/** The reservation of a downgraded request; negative if no budget of the request downgrades. */
export function cheaperOf({ rules: { budget, scoped }, downgradeEstimate }: AdmitRequest): Amount {
  const mayDowngrade =
    budget?.onExceeded === 'downgrade' ||
    scoped?.some(({ rule }) => rule?.onExceeded === 'downgrade')
  if (!mayDowngrade || downgradeEstimate === undefined) return { tokens: NO_CAP, nanos: NO_CAP }
  return sane(downgradeEstimate)
}
