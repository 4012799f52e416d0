/** A counter: its rates and slots, if it has any, a ledger for the present window of tokens, and one for that of money. */

import { Bucket, type BucketRule } from '../../accounts/bucket.ts'
import type {
  BucketFigure,
  BudgetFigure,
  BudgetRule,
  BudgetScope,
  Measures,
  RateFigures,
  ScopedFigures,
} from '../../accounts/store.ts'
import type { Present, Windows } from '../../accounts/windows.ts'
import { Ledger } from './ledger.ts'

/** The present window and the one before, which a clock that steps back over midnight needs again. */
const LEDGERS_MAX = 2

const STEP_BACK_MS = 3_600_000

export class Account {
  readonly name: string
  day: Ledger
  month: Ledger
  /** Absent until a rule limits requests. */
  requests: Bucket | undefined
  /** Absent until a rule limits tokens a minute. */
  tokens: Bucket | undefined
  running = 0
  /** Number of expired holds whose settlement may still arrive. */
  awaited = 0
  readonly #days: Ledger[]
  readonly #months: Ledger[]

  constructor(name: string, present: Windows, restored: readonly Ledger[]) {
    this.name = name
    this.#days = restored.filter(({ window }) => window.kind === 'day')
    this.#months = restored.filter(({ window }) => window.kind === 'month')
    this.day = this.#ledgerOf(this.#days, present.day)
    this.month = this.#ledgerOf(this.#months, present.month)
  }

  moveTo({ day, month }: Windows): void {
    if (this.day.window.key === day.key) return
    this.day = this.#ledgerOf(this.#days, day)
    this.month = this.#ledgerOf(this.#months, month)
  }

  /** Updates the buckets to the present time and rules, without a charge. */
  obey({ requestsPerMinute, burst = 1, tokensPerMinute }: Measures, now: number): void {
    if (requestsPerMinute !== undefined) {
      this.requests = obeying(this.requests, requestsPerMinute, burst, now)
    }
    if (tokensPerMinute !== undefined) {
      this.tokens = obeying(this.tokens, tokensPerMinute, tokensPerMinute, now)
    }
  }

  /** Whether the windows ended long ago and no request runs in them. */
  isOver(present: Present): boolean {
    if (this.month.holds > 0) return false
    const { resetsAt, isUnkept } = this.month.window
    if (isUnkept === undefined) return resetsAt < present.month.startsAt
    // The windows of a limit; a clock may step back over their end.
    return (isUnkept && this.day.window.isUnkept === true) || resetsAt + STEP_BACK_MS < present.at
  }

  /** Whether no request runs or may still be settled, and the rates are not in use. */
  isQuiet(now: number): boolean {
    return (
      this.running + this.awaited === 0 &&
      (this.requests?.isEmptyUnderAnyRule(now) ?? true) &&
      (this.tokens?.isEmptyUnderAnyRule(now) ?? true)
    )
  }

  /** The figures of a budget over these windows. */
  budgetFigures(rule: BudgetRule | undefined): Pick<ScopedFigures, 'tokens' | 'spend'> {
    return {
      tokens: budgetFigure(this.day, rule?.tokensPerDay),
      spend: budgetFigure(this.month, rule?.nanosPerMonth),
    }
  }

  /** The figures of rates and slots. */
  rateFigures(
    { requestsPerMinute, tokensPerMinute, concurrentRequests }: Measures,
    now: number,
  ): RateFigures {
    return {
      requests: bucketFigure(this.requests, requestsPerMinute, now),
      tokenRate: bucketFigure(this.tokens, tokensPerMinute, now),
      concurrency:
        concurrentRequests === undefined
          ? undefined
          : { limit: concurrentRequests, used: this.running },
    }
  }

  #ledgerOf(ledgers: Ledger[], window: Windows['day']): Ledger {
    const at = ledgers.findIndex((ledger) => ledger.window.key === window.key)
    // The ledger used last comes first, because a clock that stepped back makes older ledgers after newer ones.
    const [ledger = new Ledger(this.name, window)] = at === -1 ? [] : ledgers.splice(at, 1)
    ledgers.unshift(ledger)
    ledgers.length = Math.min(ledgers.length, LEDGERS_MAX)
    return ledger
  }
}

/** A counter of a request beside that of its tenant, under its rules. */
export interface Scoped {
  readonly scope: BudgetScope
  readonly rule: BudgetRule | undefined
  readonly rates: Measures | undefined
  readonly account: Account
}

export const NONE_SCOPED: readonly Scoped[] = []

function obeying(
  bucket: Bucket | undefined,
  perMinute: number,
  capacity: number,
  now: number,
): Bucket {
  const rule: BucketRule = { perMinute, capacity }
  if (bucket === undefined) return new Bucket(rule, now)
  bucket.obey(rule, now)
  return bucket
}

function bucketFigure(
  bucket: Bucket | undefined,
  limit: number | undefined,
  now: number,
): BucketFigure | undefined {
  if (limit === undefined || bucket === undefined) return undefined
  return { limit, remaining: bucket.remaining(now), resetMs: bucket.resetMs(now) }
}

function budgetFigure(ledger: Ledger, limit: number | undefined): BudgetFigure | undefined {
  if (limit === undefined) return undefined
  const { settled, reserved, window } = ledger
  return { limit, settled, reserved, resetsAt: window.resetsAt }
}
