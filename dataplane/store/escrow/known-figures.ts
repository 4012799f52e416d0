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
export function figuresOf(holding: Holding, rules: TenantTerms, now: number): Figures {
  const { requestsPerMinute: limit, burst: capacity, concurrentRequests, budget } = rules
  return {
    requests: requestsOf(holding, { limit, capacity, since: sinceKnown(holding, now) }),
    tokenRate: tokenRateOf(holding, rules, now),
    concurrency: slotsOf(holding, concurrentRequests),
    tokens: tokensOf(holding, budget),
    spend: spendOf(holding, budget),
  }
}

/** With those of groups, keys and limits; the holdings are in the order of the rules. */
export function figuresOfAll(
  holding: Holding,
  others: readonly Holding[],
  rules: Rules,
  now: number,
): Figures {
  const scoped = others.flatMap((other, index) => {
    const { rule, rates } = rules.scoped?.[index] ?? {}
    return scopedFiguresOf(other, { ...rates, budget: rule }, now)
  })
  return { ...figuresOf(holding, rules, now), scoped }
}

/** None for the account of a tenant. */
export function scopedFiguresOf(holding: Holding, terms: Terms, now: number): ScopedFigures[] {
  const { scope } = holding
  if (scope === undefined) return []
  const { requestsPerMinute: limit, burst: capacity, concurrentRequests, budget } = terms
  const figures = { scope, tokens: tokensOf(holding, budget), spend: spendOf(holding, budget) }
  if (scope.kind !== 'limit') return [figures]
  const hasRate = limit !== undefined && capacity !== undefined
  const since = sinceKnown(holding, now)
  return [
    {
      ...figures,
      requests: hasRate ? requestsOf(holding, { limit, capacity, since }) : undefined,
      tokenRate: tokenRateOf(holding, terms, now),
      concurrency:
        concurrentRequests === undefined ? undefined : slotsOf(holding, concurrentRequests),
    },
  ]
}

/** The limits of the account of a tenant. */
export type TenantTerms = Omit<Rules, 'scoped' | 'base'>

function sinceKnown({ known }: Holding, now: number): number {
  return now - (known?.at ?? now)
}

function requestsOf(holding: Holding, bucket: BucketNow): BucketFigure {
  const { known, slice } = holding
  const used = slice.used.requests - (known?.claim.used.requests ?? 0)
  return bucketOf(bucket, [at(holding, 15), at(holding, 16)], used)
}

function tokenRateOf(
  holding: Holding,
  { tokensPerMinute: limit }: Terms,
  now: number,
): BucketFigure | undefined {
  if (limit === undefined) return undefined
  const { known, slice } = holding
  const used = slice.used.rated - (known?.claim.used.rated ?? 0)
  const bucket = { limit, capacity: limit, since: sinceKnown(holding, now) }
  return bucketOf(bucket, [at(holding, 17), at(holding, 18)], used)
}

function slotsOf(holding: Holding, limit: number): Figures['concurrency'] {
  const { known, slice } = holding
  return { limit, used: at(holding, 19) + slice.used.slots - (known?.claim.used.slots ?? 0) }
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
