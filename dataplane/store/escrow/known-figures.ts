/** The figures of a tenant as this replica knows them: the store's last answer, and usage here since then. */
import type {
  BucketFigure,
  BudgetFigure,
  Figures,
  Rules,
  ScopedFigures,
} from '../../accounts/store.ts'
import { DAY_AT, type Holding, MONTH_AT, type Terms } from './holding.ts'

const MINUTE_MS = 60_000

/** The figures of the tenant alone. */
export function figuresOf(holding: Holding, rules: Terms, now: number): Figures {
  const { known } = holding
  const since = now - (known?.at ?? now)
  const used = known?.claim.used
  const { used: present } = holding.slice
  const { requestsPerMinute, burst, tokensPerMinute, concurrentRequests, budget } = rules
  return {
    requests: bucketOf(
      { limit: requestsPerMinute, capacity: burst, since },
      [at(holding, 15), at(holding, 16)],
      present.requests - (used?.requests ?? 0),
    ),
    tokenRate:
      tokensPerMinute === undefined
        ? undefined
        : bucketOf(
            { limit: tokensPerMinute, capacity: tokensPerMinute, since },
            [at(holding, 17), at(holding, 18)],
            present.rated - (used?.rated ?? 0),
          ),
    concurrency: {
      limit: concurrentRequests,
      used: at(holding, 19) + present.slots - (used?.slots ?? 0),
    },
    tokens: tokensOf(holding, budget),
    spend: spendOf(holding, budget),
  }
}

/** With those of groups and keys; the holdings are in the order of the rules. */
export function figuresOfAll(
  holding: Holding,
  others: readonly Holding[],
  rules: Rules,
  now: number,
): Figures {
  const scoped = others.flatMap((other, index) =>
    scopedFiguresOf(other, rules.scoped?.[index]?.rule),
  )
  return { ...figuresOf(holding, rules, now), scoped }
}

/** None for the account of a tenant. */
export function scopedFiguresOf(holding: Holding, budget: Terms['budget']): ScopedFigures[] {
  const { scope } = holding
  if (scope === undefined) return []
  return [{ scope, tokens: tokensOf(holding, budget), spend: spendOf(holding, budget) }]
}

interface BucketNow {
  readonly limit: number
  readonly capacity: number
  /** Milliseconds since the answer of the store. */
  readonly since: number
}

function bucketOf(
  { limit, capacity, since }: BucketNow,
  [left, resetMs]: readonly [number, number],
  usedSince: number,
): BucketFigure {
  const level = Math.max(0, capacity - left - (since * limit) / MINUTE_MS)
  const remaining = Math.max(0, Math.floor(capacity - level - usedSince))
  const addedMs = (usedSince * MINUTE_MS) / limit
  return { limit, remaining, resetMs: Math.max(0, Math.ceil(resetMs - since + addedMs)) }
}

function tokensOf(holding: Holding, budget: Terms['budget']): BudgetFigure | undefined {
  const limit = budget?.tokensPerDay
  if (limit === undefined) return undefined
  const { known, slice, day } = holding
  return {
    limit,
    settled: at(holding, DAY_AT) + day.total - (known?.totals[0] ?? 0),
    reserved: Math.max(0, at(holding, 20) + slice.used.tokens - (known?.claim.used.tokens ?? 0)),
    resetsAt: day.window.resetsAt,
  }
}

function spendOf(holding: Holding, budget: Terms['budget']): BudgetFigure | undefined {
  const limit = budget?.nanosPerMonth
  if (limit === undefined) return undefined
  const { known, slice, month } = holding
  return {
    limit,
    settled: at(holding, MONTH_AT) + month.total - (known?.totals[1] ?? 0),
    reserved: Math.max(0, at(holding, 21) + slice.used.nanos - (known?.claim.used.nanos ?? 0)),
    resetsAt: month.window.resetsAt,
  }
}

/** A number of the last reply. */
function at({ known }: Holding, index: number): number {
  return known?.reply[index] ?? 0
}
