/** What the memory knows of one tenant: two buckets, the running requests, and a ledger for each window. */
import type { Present, Window } from '../../budgets/windows.ts'
import { Bucket } from '../../limits/bucket.ts'
import { NOTHING } from '../amounts.ts'
import type { Amount, BudgetFigure, Figures, Rules } from '../contract.ts'
import { Ledger } from './ledger.ts'

/** This window and the one used before: what a clock that steps back over midnight finds again. */
const LEDGERS_MAX = 2

export class Tenant {
  readonly name: string
  readonly requests: Bucket
  tokens: Bucket | undefined
  running = 0
  /** Expired holds whose settlement may still come. */
  awaited = 0
  day: Ledger
  month: Ledger
  readonly #days: Ledger[]
  readonly #months: Ledger[]

  constructor(name: string, rules: Rules, present: Present, restored: readonly Ledger[]) {
    this.name = name
    this.requests = new Bucket(requestRule(rules), 0)
    this.#days = restored.filter(({ window }) => window.kind === 'day')
    this.#months = restored.filter(({ window }) => window.kind === 'month')
    this.day = this.#ledgerOf(this.#days, present.day)
    this.month = this.#ledgerOf(this.#months, present.month)
  }

  /** Brings windows and buckets to the present and its rules; charges nothing. */
  enter(rules: Rules, present: Present, now: number): void {
    if (this.day.window.startsAt !== present.day.startsAt) {
      this.day = this.#ledgerOf(this.#days, present.day)
      this.month = this.#ledgerOf(this.#months, present.month)
    }
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

/** A running request: its slot, what it holds in which windows, and what it has told to have used. */
export interface Held {
  readonly id: string
  readonly tenant: Tenant
  readonly day: Ledger
  readonly month: Ledger
  /** Why it runs on the downgrade route, if it does. */
  readonly downgradedBy: 'budget_tokens' | 'budget_spend' | undefined
  expiresAt: number
  /** Rises with every renewal of any: who was heard of longest ago expires first. */
  turn: number
  /** Its neighbour in the table of all. */
  next: Held | undefined
  reserved: Amount
  used: Amount
  /** What is settled already: nothing before the hold expired. */
  settled: Amount
  /** Tokens charged to the bucket of tokens_per_minute, if there was one when it was admitted. */
  rated: number | undefined
}

/** Gives a request its slot and what it may use; the caller puts it into its table. */
export function take(
  tenant: Tenant,
  id: string,
  reserved: Amount,
  downgradedBy: Held['downgradedBy'],
): Held {
  const { day, month } = tenant
  tenant.running++
  day.hold(reserved.tokens)
  month.hold(reserved.nanos)
  return {
    id,
    tenant,
    day,
    month,
    downgradedBy,
    expiresAt: 0,
    turn: 0,
    next: undefined,
    reserved,
    used: NOTHING,
    settled: NOTHING,
    rated: undefined,
  }
}

function requestRule({ requestsPerMinute, burst }: Rules) {
  return { perMinute: requestsPerMinute, capacity: burst }
}

function figureOf(bucket: Bucket, limit: number, now: number) {
  return { limit, remaining: bucket.remaining(now), resetMs: bucket.resetMs(now) }
}

function budgetFigure(ledger: Ledger, limit: number | undefined): BudgetFigure | undefined {
  if (limit === undefined) return undefined
  const { settled, reserved, window } = ledger
  return { limit, settled, reserved, resetsAt: window.resetsAt }
}
