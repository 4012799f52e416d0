/**
 * Settlements of one turn of the event loop go to the store in one call for each account: it reads and writes the account
 * once for all of them. No answer has left before the end of a turn, so that no client can ask again before it was settled.
 */

import type { BudgetRule, Crossing } from '../../accounts/store.ts'
import type { Clock } from '../../base/clock.ts'
import { TurnGroups } from '../../base/turn-end.ts'
import type { Account, AccountWindow } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import { crossings, DAY_AT, MONTH_AT, type Part } from './request-part.ts'
import { BESIDE, SETTLE, SETTLE_ALL, SETTLE_AND_BURY, SETTLE_ONLY } from './scripts/settle.ts'

/** Bounded, so that a script does not block the server for long. */
const TOGETHER_MAX = 100

interface Ending {
  readonly part: Part
  readonly budget: BudgetRule | undefined
}

const NONE: readonly Crossing[] = []

export class Settlements {
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #gathered: TurnGroups<Account, Ending, readonly Crossing[]>

  constructor(calls: Calls, clock: Clock) {
    this.#calls = calls
    this.#clock = clock
    this.#gathered = new TurnGroups(TOGETHER_MAX, haveWindowsInCommon, (ends) => this.#send(ends))
  }

  /** Resolves after the store has the settlement. The first request of a call gets the alerts of the whole call. */
  add(part: Part, budget: BudgetRule | undefined): Promise<readonly Crossing[]> {
    part.account.unanswered.add(part, this.#clock.now())
    const { sent, place } = this.#gathered.add(part.account, { part, budget })
    return place === 0 ? sent : sent.then(() => NONE)
  }

  async #send(endings: readonly Ending[]): Promise<readonly Crossing[]> {
    const [first] = endings
    if (first === undefined) return NONE
    const { budget } = first
    const { account, day, month } = first.part
    if (!day.isMet || !month.isMet) await this.#calls.meet(account, [day, month])
    const thresholds = budget?.alertThresholds ?? []
    const parts = endings.map(({ part }) => part)
    const beside = account.unanswered.beside(parts, this.#clock.now())
    const ends = [
      ...parts.flatMap((part) => ended(part, 0)),
      ...beside.flatMap((part) => ended(part, BESIDE)),
    ]
    const number = parts.length + beside.length
    const reply = await this.#calls.run({
      script: number === 1 ? SETTLE : SETTLE_ALL,
      account,
      isBounded: false,
      windows: () => [day, month],
      args: () => {
        const now = this.#clock.now()
        const isCapped = thresholds.length > 0
        return [
          ...(number === 1 ? [] : [number]),
          ...ends,
          ...report(day, isCapped ? budget?.tokensPerDay : undefined, now),
          ...report(month, isCapped ? budget?.nanosPerMonth : undefined, now),
          ...thresholds.map(String),
        ]
      },
    })
    for (const part of parts) account.unanswered.answered(part)
    day.hear(reply, DAY_AT, this.#clock.now())
    month.hear(reply, MONTH_AT, this.#clock.now())
    return crossings(first.part, budget, reply)
  }
}

function ended(
  { id, settled, wasPutBack }: Pick<Part, 'id' | 'settled' | 'wasPutBack'>,
  way: number,
): readonly (string | number)[] {
  return [id, settled?.tokens ?? 0, way + (wasPutBack ? SETTLE_AND_BURY : SETTLE_ONLY)]
}

function haveWindowsInCommon(first: Ending, other: Ending): boolean {
  const [one, two] = [first.part, other.part]
  return one.day === two.day && one.month === two.month && first.budget === other.budget
}

function report(window: AccountWindow, cap: number | undefined, now: number): readonly number[] {
  return [window.window.isUnkept === true ? 0 : 1, window.total, ...window.seen(now), cap ?? -1]
}
