/**
 * Requests decisions and figures from Redis with one script call, over one account or over all accounts of a request.
 * Requests of one turn of the event loop under the same rules of one account are decided by one call, in their order.
 */

import { sane, tokensOf } from '../../accounts/amounts.ts'
import type {
  AdmitRequest,
  AdmitResult,
  Amount,
  CountedTokens,
  Measures,
  Rules,
  ScopedBudget,
} from '../../accounts/store.ts'
import type { Moment, Windows } from '../../accounts/windows.ts'
import type { Clock } from '../../base/clock.ts'
import { TurnGroups } from '../../base/turn-end.ts'
import { StoreAway } from './link.ts'
import type { Account, AccountWindow, ScopeAccount } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import {
  admission,
  decisionAt,
  decisiveOf,
  FIRST_REFUSAL,
  figuresOf,
  isHeldBack,
  type ShardAnswer,
  scopedFiguresOf,
  windowsIn,
} from './redis-replies.ts'
import { ADMIT, type READ } from './scripts/admit.ts'
import { ADMIT_ALL } from './scripts/admit-all.ts'

/** Stands for a missing cap or estimate. */
export const NO_CAP = -1

/** The estimate of a request that is charged to the rates alone. */
export const RATES_ONLY: Amount = { tokens: NO_CAP, nanos: 0 }

export interface Decided {
  readonly result: AdmitResult
  readonly present: Moment
  /** 0, or the kind of budget that downgraded it: 1 tokens, 2 spend. */
  readonly by: number
  /** Refused only because of slices, which their holders give back now. */
  readonly isHeldBack: boolean
  /** Accounts on other nodes of a cluster that hold something for a refused request. */
  readonly toGiveBack: readonly Account[]
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

interface SharedCounter extends Counter {
  readonly counts: CountedTokens
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

const NONE: readonly Account[] = []

export class Asking {
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #isCluster: boolean
  readonly #gathered: TurnGroups<Account, Admission, readonly Decided[]>

  /** `isCluster`: accounts with different tags may be on different nodes. */
  constructor(calls: Calls, clock: Clock, isCluster: boolean) {
    this.#calls = calls
    this.#isCluster = isCluster
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
      return { result, present, by: code - 1, isHeldBack: isHeldBack(code), toGiveBack: NONE }
    })
  }

  /**
   * One call over the accounts of all budgets: if one refuses, none is charged. In a cluster it is one for each node that may
   * have some of them: if one refuses, the others have to be given back what they hold.
   */
  async admitOverAll(
    { account, rules, others }: Tenancy & { readonly others: readonly ScopeAccount[] },
    wanted: Wanted,
  ): Promise<Decided> {
    const { scoped = [] } = rules
    const counters: readonly SharedCounter[] = [
      { account, rules, counts: 'all' },
      ...others.map((one, index) => ({
        account: one.account,
        rules: rulesOfScope(scoped[index]),
        counts: one.scope.limit?.counts ?? ('all' as const),
      })),
    ]
    const shards = this.#isCluster
      ? [...Map.groupBy(counters, (one) => one.account.tag).values()]
      : [counters]
    const answers = await allOf(shards.map((shard) => this.#admitShard(shard, wanted)))
    const { code, wait, at, moment, isHeldBack: held } = decisiveOf(answers)
    const replyOf = (one: Account) =>
      answers.find(({ replies }) => replies.has(one))?.replies.get(one) ?? []
    const figures = {
      ...figuresOf(replyOf(account), rules, moment),
      scoped: scoped.map((one, index) => {
        const reply = replyOf(others[index]?.account ?? account)
        return scopedFiguresOf(reply, one, windowsOfScope(one, moment))
      }),
    }
    const scope = others.find((one) => one.account === at)?.scope
    const result = admission([code, 0, wait], figures, scope)
    const isRefused = result.outcome === 'refused'
    const toGiveBack = answers.flatMap((one) =>
      isRefused && one.code < FIRST_REFUSAL ? [...one.replies.keys()] : [],
    )
    return { result, present: moment, by: code - 1, isHeldBack: held, toGiveBack }
  }

  /** Over accounts of one node. */
  async #admitShard(
    counters: readonly SharedCounter[],
    { id, estimate, cheaper }: Wanted,
  ): Promise<ShardAnswer> {
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
    const [code, , wait, which, ...lists] = reply as readonly [
      number,
      number,
      number,
      number,
      ...number[][],
    ]
    const replies = new Map<Account, readonly number[]>()
    for (const [index, counter] of counters.entries()) {
      const list = lists[index] ?? []
      this.#hear(counter, list, moment)
      replies.set(counter.account, list)
    }
    return { code, wait, at: counters[which - 1]?.account, replies, moment }
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

/** If one call fails, accounts of the others may hold something. */
async function allOf<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(calls)
  const failed = ends.find(({ status }) => status === 'rejected')
  if (failed?.status !== 'rejected') return await Promise.all(calls)
  const { reason } = failed
  if (calls.length === 1 || !(reason instanceof StoreAway)) throw reason
  throw new StoreAway(reason.reason, true, { cause: reason })
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
