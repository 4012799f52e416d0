/** The numbers of a local share: its rules, the start levels of its buckets, and the figures for the tenant. */
import type {
  BucketFigure,
  BudgetFigure,
  BudgetRule,
  Figures,
  Measures,
  Rules,
  ScopedBudget,
  ScopedFigures,
} from '../../accounts/store.ts'
import type { Account } from '../memory/account.ts'
import type { Ledger } from '../memory/ledger.ts'
import type { Tenant } from '../memory/tenant.ts'

/** The last figures of a counter from the shared store. */
export interface LastKnown {
  readonly figures: Pick<ScopedFigures, 'requests' | 'tokenRate'> | undefined
  /** Time of these figures, on this process's clock. */
  readonly at: number
}

/** This replica's part of a tenant's limits: at least one request of each. */
export function scaledRules(
  whole: Rules,
  tenant: Tenant,
  { figures, part }: { readonly figures: KnownBudget | undefined; readonly part: number },
): Rules {
  const { requestsPerMinute, burst, concurrentRequests } = whole
  return {
    requestsPerMinute: scaled(requestsPerMinute, part),
    burst: scaled(burst, part),
    concurrentRequests: scaled(concurrentRequests, part),
    budget: scaledBudget(whole.budget, tenant, { figures, part }),
    tokensPerMinute: optional(whole.tokensPerMinute, part),
  }
}

export function scaledMeasures(whole: Measures, part: number): Measures {
  return {
    requestsPerMinute: optional(whole.requestsPerMinute, part),
    burst: optional(whole.burst, part),
    concurrentRequests: optional(whole.concurrentRequests, part),
    tokensPerMinute: optional(whole.tokensPerMinute, part),
  }
}

function scaled(limit: number, part: number): number {
  return Math.max(1, Math.floor(limit * part))
}

function optional(limit: number | undefined, part: number): number | undefined {
  return limit === undefined ? undefined : scaled(limit, part)
}

/** The last known figures of a budget. */
export type KnownBudget = Pick<ScopedFigures, 'tokens' | 'spend'>

/** This replica's part of the last known rest in the present window; a new window is full. */
export function scaledBudget(
  whole: BudgetRule | undefined,
  { day, month }: Account,
  { figures, part }: { readonly figures: KnownBudget | undefined; readonly part: number },
): BudgetRule | undefined {
  if (whole === undefined) return undefined
  const remaining = (
    limit: number | undefined,
    known: BudgetFigure | undefined,
    { window }: Ledger,
  ) => {
    if (limit === undefined) return undefined
    const settled = known?.resetsAt === window.resetsAt ? known.settled : 0
    return Math.ceil(Math.max(0, limit - settled) * part)
  }
  return {
    ...whole,
    tokensPerDay: remaining(whole.tokensPerDay, figures?.tokens, day),
    nanosPerMonth: remaining(whole.nanosPerMonth, figures?.spend, month),
  }
}

/** The bucket starts at the level of the shared one, less the leak since then, or at the level after its last outage. */
export function takeOver(
  { requests, tokens }: Account,
  { figures, at }: LastKnown,
  { rules, part, now }: { readonly rules: Measures; readonly part: number; readonly now: number },
): void {
  if (figures === undefined) return
  const passed = Math.max(0, now - at)
  const fill = (bucket: Tenant['tokens'], capacity: number, known: BucketFigure | undefined) => {
    if (bucket === undefined || known === undefined) return
    const inUse = (Math.max(0, known.resetMs - passed) * known.limit) / 60_000
    const missing = Math.min(capacity, Math.ceil(inUse * part)) - (capacity - bucket.remaining(now))
    if (missing > 0) bucket.charge(missing, now)
  }
  fill(requests, rules.burst ?? 0, figures.requests)
  fill(tokens, rules.tokensPerMinute ?? 0, figures.tokenRate)
}

/** Shows the tenant its full limits, and this replica's rest of them. */
export function shown(figures: Figures, whole: Rules): Figures {
  const { requests, tokenRate, concurrency, scoped } = figures
  return {
    requests: { ...requests, limit: whole.requestsPerMinute },
    tokenRate: tokenRate && { ...tokenRate, limit: whole.tokensPerMinute ?? 0 },
    concurrency,
    ...budgetShown(figures, whole.budget),
    ...(scoped && {
      scoped: scoped.map((one, index) => scopeShown(one, whole.scoped?.[index])),
    }),
  }
}

function scopeShown(one: ScopedFigures, whole: ScopedBudget | undefined): ScopedFigures {
  const { requests, tokenRate, concurrency, scope } = one
  const { rule, rates } = whole ?? {}
  return {
    scope,
    ...budgetShown(one, rule),
    ...(rates && {
      requests: requests && { ...requests, limit: rates.requestsPerMinute ?? 0 },
      tokenRate: tokenRate && { ...tokenRate, limit: rates.tokensPerMinute ?? 0 },
      concurrency,
    }),
  }
}

function budgetShown({ tokens, spend }: KnownBudget, rule: BudgetRule | undefined): KnownBudget {
  return {
    tokens: tokens && ofWhole(tokens, rule?.tokensPerDay ?? 0),
    spend: spend && ofWhole(spend, rule?.nanosPerMonth ?? 0),
  }
}

function ofWhole(figure: BudgetFigure, limit: number): BudgetFigure {
  return { ...figure, limit, settled: limit - Math.max(0, figure.limit - figure.settled) }
}
