/**
 * Requests decisions and figures from Redis with one script call, over one account or over all accounts of a request.
 * Requests of one turn of the event loop under the same rules of one account are decided by one call, in their order.
 */

import { sane, tokensOf } from '../../accounts/amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Amount,
  Measures,
  Rules,
  ScopedBudget,
} from '../../accounts/store.ts'
import type { Moment, Windows } from '../../accounts/windows.ts'
import type { Clock } from '../../base/clock.ts'
import { TurnGroups } from '../../base/turn-end.ts'
import type { Account, AccountWindow, ScopeAccount } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import {
  admission,
  decisionAt,
  figuresOf,
  isHeldBack,
  scopedFiguresOf,
  windowsIn,
} from './redis-replies.ts'
import { ADMIT, type READ } from './scripts/admit.ts'
import { ADMIT_ALL } from './scripts/admit-all.ts'

/** Stands for a missing cap or estimate. */
export const NO_CAP = -1

export interface Decided {
  readonly result: AdmitResult
  readonly present: Moment
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

/** One of the counters of a request. */
interface Counter {
  readonly account: Account
  readonly rules: CounterRules
}

type CounterRules = Measures & Pick<Rules, 'budget'>

export interface Answered {
  readonly reply: readonly number[]
  readonly present: Moment
}

/** A request, and its estimates. */
export interface Wanted {
  readonly id: string
  readonly estimate: Amount
  /** On the downgrade route; negative without such a route. */
  readonly cheaper: Amount
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
  async admitAlone({ account, rules }: Tenancy, wanted: Wanted): Promise<Decided> {
    const own = ownOf(wanted)
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
    { id, estimate, cheaper }: Wanted,
  ): Promise<Decided> {
    const { scoped = [] } = rules
    const counters = [
      { account, rules, counts: 'all' as const },
      ...others.map((one, index) => ({
        account: one.account,
        rules: rulesOfScope(scoped[index]),
        counts: one.scope.limit?.counts ?? ('all' as const),
      })),
    ]
    let moment: Moment = this.#calls.present
    const reply = await this.#calls.runOverAll({
      script: ADMIT_ALL,
      own: ownOf({ id, estimate, cheaper }),
      parts: counters.map((one) => ({
        account: one.account,
        facts: [
          one.rules.budget?.onExceeded === 'downgrade' ? 1 : 0,
          tokensOf(estimate, one.counts),
          cheaper.tokens === NO_CAP ? NO_CAP : tokensOf(cheaper, one.counts),
        ],
        windows: (present) => windowsOf(one.account, present),
        args: ({ day, month, at }) => {
          moment = { day, month, at }
          return this.#rulesNow(one, moment)
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
    for (const [index, counter] of counters.entries()) {
      this.#hear(counter, index === 0 ? mine : (theirs[index - 1] ?? []), moment)
    }
    const figures = {
      ...figuresOf(mine, rules, moment),
      scoped: scoped.map((one, index) =>
        scopedFiguresOf(theirs[index] ?? [], one, windowsOfScope(one, moment)),
      ),
    }
    const result = admission(reply.slice(0, 3) as number[], figures, others[which - 2]?.scope)
    return { result, present: moment, by: code - 1, isHeldBack: isHeldBack(code) }
  }

  /** Reads, or admits under the rules of one account. */
  async ask(script: typeof READ, { account, rules }: Counter, own: Arguments): Promise<Answered> {
    let moment: Moment = this.#calls.present
    const reply = await this.#calls.run({
      script,
      account,
      isBounded: true,
      windows: (present) => windowsOf(account, present),
      args: ({ day, month, at }) => {
        moment = { day, month, at }
        return [...this.#rulesNow({ account, rules }, moment), ...own]
      },
    })
    this.#hear({ account, rules }, reply, moment)
    return { reply, present: moment }
  }

  #hear({ account, rules }: Counter, reply: readonly number[], moment: Moment): void {
    const [day, month] = windowsIn(rules.budget)
    const windows = account.windowsAt(moment)
    const now = this.#clock.now()
    if (day !== undefined) windows.day.hear(reply, day, now)
    if (month !== undefined) windows.month.hear(reply, month, now)
  }

  #rulesNow({ account, rules }: Counter, moment: Moment): Arguments {
    const { requestsPerMinute, burst, concurrentRequests, tokensPerMinute, budget } = rules
    const { day, month } = account.windowsAt(moment)
    const now = this.#clock.now()
    return [
      ...[day.window.startsAt, day.window.resetsAt, month.window.resetsAt],
      ...[requestsPerMinute ?? NO_CAP, burst ?? NO_CAP, concurrentRequests ?? NO_CAP],
      ...[tokensPerMinute ?? NO_CAP],
      ...[budget?.tokensPerDay ?? NO_CAP, budget?.nanosPerMonth ?? NO_CAP],
      ...day.seen(now),
      ...month.seen(now),
    ]
  }
}

function ownOf({ id, estimate, cheaper }: Wanted): Arguments {
  return [id, estimate.tokens, estimate.nanos, cheaper.tokens, cheaper.nanos]
}

function windowsOf(account: Account, moment: Moment): readonly AccountWindow[] {
  const { day, month } = account.windowsAt(moment)
  return [day, month]
}

/** Only a tenant and a limit have rates and slots. */
export function rulesOfScope(
  scoped: Pick<ScopedBudget, 'rule' | 'rates'> | undefined,
): CounterRules {
  return { ...scoped?.rates, budget: scoped?.rule }
}

/** The windows of the budget of a counter. */
export function windowsOfScope({ scope }: Pick<ScopedBudget, 'scope'>, moment: Moment): Windows {
  return scope.limit?.period.at(moment.at) ?? moment
}

/** The reservation of a downgraded request; negative if no budget of the request downgrades. */
export function cheaperOf({ rules: { budget, scoped }, downgradeEstimate }: AdmitRequest): Amount {
  const mayDowngrade =
    budget?.onExceeded === 'downgrade' ||
    scoped?.some(({ rule }) => rule?.onExceeded === 'downgrade')
  if (!mayDowngrade || downgradeEstimate === undefined) return { tokens: NO_CAP, nanos: NO_CAP }
  return sane(downgradeEstimate)
}
