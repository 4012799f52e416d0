/** One tenant in the memory store: two buckets, the number of running requests, and a ledger for each window. */
import type { Present, Window } from '../../budgets/windows.ts'
import { Bucket } from '../../limits/bucket.ts'
import type { BudgetFigure, Figures, Rules } from '../contract.ts'
import { Ledger } from './ledger.ts'

/** This window and the one used before: what a clock that steps back over midnight finds again. */
const LEDGERS_MAX = 2

export class Tenant {
  readonly name: string
  /** Empty until its rules come with the first request. */
  readonly requests = new Bucket({ perMinute: 1, capacity: 1 }, 0)
  tokens: Bucket | undefined
  running = 0
  /** Expired holds whose settlement may still come. */
  awaited = 0
  day: Ledger
  month: Ledger
  readonly #days: Ledger[]
  readonly #months: Ledger[]

  constructor(name: string, present: Present, restored: readonly Ledger[]) {
    this.name = name
    this.#days = restored.filter(({ window }) => window.kind === 'day')
    this.#months = restored.filter(({ window }) => window.kind === 'month')
    this.day = this.#ledgerOf(this.#days, present.day)
    this.month = this.#ledgerOf(this.#months, present.month)
  }

  moveTo(present: Present): void {
    if (this.day.window.startsAt === present.day.startsAt) return
    this.day = this.#ledgerOf(this.#days, present.day)
    this.month = this.#ledgerOf(this.#months, present.month)
  }

  /** Brings the buckets to the present and its rules; charges nothing. */
  obey(rules: Rules, now: number): void {
    this.requests.obey({ perMinute: rules.requestsPerMinute, capacity: rules.burst }, now)
    const { tokensPerMinute } = rules
    if (tokensPerMinute === undefined) return
    const rule = { perMinute: tokensPerMinute, capacity: tokensPerMinute }
    this.tokens ??= new Bucket(rule, now)
    this.tokens.obey(rule, now)
  }

  /** Whether forgetting it would change nothing: nothing is to come, nothing leaks, and its windows are long over. */
  isIdle(present: Present, now: number): boolean {
    return (
      this.running + this.awaited === 0 &&
      this.month.window.resetsAt < present.month.startsAt &&
      this.requests.isEmptyUnderAnyRule(now) &&
      (this.tokens?.isEmptyUnderAnyRule(now) ?? true)
    )
  }

  figures(rules: Rules, now: number): Figures {
    const { requestsPerMinute, tokensPerMinute, concurrentRequests, budget } = rules
    return {
      requests: figureOf(this.requests, requestsPerMinute, now),
      tokenRate:
        tokensPerMinute === undefined || this.tokens === undefined
          ? undefined
          : figureOf(this.tokens, tokensPerMinute, now),
      concurrency: { limit: concurrentRequests, used: this.running },
      tokens: budgetFigure(this.day, budget?.tokensPerDay),
      spend: budgetFigure(this.month, budget?.nanosPerMonth),
    }
  }

  #ledgerOf(ledgers: Ledger[], window: Window): Ledger {
    const at = ledgers.findIndex((ledger) => ledger.window.key === window.key)
    // The one used last stands first: a clock that stepped back has made older ones after newer ones.
    const [ledger = new Ledger(this.name, window)] = at === -1 ? [] : ledgers.splice(at, 1)
    ledgers.unshift(ledger)
    ledgers.length = Math.min(ledgers.length, LEDGERS_MAX)
    return ledger
  }
}

function figureOf(bucket: Bucket, limit: number, now: number) {
  return { limit, remaining: bucket.remaining(now), resetMs: bucket.resetMs(now) }
}

function budgetFigure(ledger: Ledger, limit: number | undefined): BudgetFigure | undefined {
  if (limit === undefined) return undefined
  const { settled, reserved, window } = ledger
  return { limit, settled, reserved, resetsAt: window.resetsAt }
}
