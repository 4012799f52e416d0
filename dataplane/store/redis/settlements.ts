/**
 * Settlements of one turn of the event loop go to the store in one call for each account: it reads and writes the account
 * once for all of them. No answer has left before the end of a turn, so that no client can ask again before it was settled.
 */

import type { Clock } from '../../base/clock.ts'
import { flushAtTurnEnd, type HeldWrites } from '../../base/turn-end.ts'
import type { BudgetRule, Crossing } from '../contract.ts'
import type { Account, AccountWindow } from './redis-accounts.ts'
import type { Calls } from './redis-calls.ts'
import { crossings, DAY_AT, MONTH_AT, type Part } from './request-part.ts'
import { SETTLE, SETTLE_ALL, SETTLE_AND_BURY, SETTLE_ONLY } from './scripts/settle.ts'

/** A script must not keep the server for long. */
const TOGETHER_MAX = 100

/** Parts that have account, windows and budget in common. */
interface Group {
  readonly parts: Part[]
  readonly budget: BudgetRule | undefined
  readonly sent: Promise<readonly Crossing[]>
  readonly send: () => void
}

const NONE: readonly Crossing[] = []

export class Settlements implements HeldWrites {
  readonly #calls: Calls
  readonly #clock: Clock
  #groups = new Map<Account, Group>()

  constructor(calls: Calls, clock: Clock) {
    this.#calls = calls
    this.#clock = clock
  }

  /** Resolves once the store has it. Alerts are those of the whole call, and go to the first request in it. */
  add(part: Part, budget: BudgetRule | undefined): Promise<readonly Crossing[]> {
    const { account } = part
    const open = this.#groups.get(account)
    if (open !== undefined && isOf(open, part, budget)) {
      open.parts.push(part)
      if (open.parts.length >= TOGETHER_MAX) this.#close(account, open)
      return open.sent.then(() => NONE)
    }
    if (open !== undefined) this.#close(account, open)
    if (this.#groups.size === 0) flushAtTurnEnd(this)
    const group = this.#open(part, budget)
    this.#groups.set(account, group)
    return group.sent
  }

  flush(): void {
    const groups = this.#groups
    this.#groups = new Map()
    for (const group of groups.values()) group.send()
  }

  #close(account: Account, group: Group): void {
    this.#groups.delete(account)
    group.send()
  }

  #open(first: Part, budget: BudgetRule | undefined): Group {
    const { promise: sent, resolve } = Promise.withResolvers<readonly Crossing[]>()
    const parts = [first]
    return { parts, budget, sent, send: () => resolve(this.#send(parts, budget)) }
  }

  async #send(parts: readonly Part[], budget: BudgetRule | undefined) {
    const [first, second] = parts
    if (first === undefined) return NONE
    const { account, day, month } = first
    if (!day.isMet || !month.isMet) await this.#calls.meet(account, [day, month])
    const thresholds = budget?.alertThresholds ?? []
    const ends = parts.flatMap((part) => [
      part.id,
      part.settled?.tokens ?? 0,
      part.wasPutBack ? SETTLE_AND_BURY : SETTLE_ONLY,
    ])
    const reply = await this.#calls.run({
      script: second === undefined ? SETTLE : SETTLE_ALL,
      account,
      isBounded: false,
      windows: () => [day, month],
      args: () => {
        const now = this.#clock.now()
        const isCapped = thresholds.length > 0
        return [
          ...(second === undefined ? [] : [parts.length]),
          ...ends,
          ...report(day, isCapped ? budget?.tokensPerDay : undefined, now),
          ...report(month, isCapped ? budget?.nanosPerMonth : undefined, now),
          ...thresholds.map(String),
        ]
      },
    })
    day.hear(reply, DAY_AT, this.#clock.now())
    month.hear(reply, MONTH_AT, this.#clock.now())
    return crossings(first, budget, reply)
  }
}

function isOf({ parts: [first], budget }: Group, part: Part, other: BudgetRule | undefined) {
  return first?.day === part.day && first.month === part.month && budget === other
}

function report(window: AccountWindow, cap: number | undefined, now: number): readonly number[] {
  return [1, window.total, ...window.seen(now), cap ?? -1]
}
