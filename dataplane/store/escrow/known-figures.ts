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

/** Takes the holdings in all accounts of a request, its tenant's first. */
export function figuresOf(
  rules: Rules,
  [own, ...others]: readonly Holding[],
  now: number,
): Figures {
  const figures = tenantFigures(own as Holding, rules, now)
  if (others.length === 0) return figures
  const scoped = others.flatMap((holding, index) => {
    const { scope } = holding
    return scope ? [{ scope, ...knownBudget(holding, rules.scoped?.[index]?.rule) }] : []
  })
  return { ...figures, scoped }
}

function tenantFigures(holding: Holding, rules: Rules, now: number): Figures {
  const at = reader(holding)
  const since = now - (holding.known?.at ?? now)
  const used = holding.known?.claim.used
  const { used: present } = holding.slice
  const { requestsPerMinute, burst, tokensPerMinute, concurrentRequests, budget } = rules
  const bucket = (
    [limit, capacity]: readonly [number, number],
    [left, resetMs]: readonly [number, number],
    usedSince: number,
  ): BucketFigure => {
    const level = Math.max(0, capacity - left - (since * limit) / MINUTE_MS)
    const remaining = Math.max(0, Math.floor(capacity - level - usedSince))
    return { limit, remaining, resetMs: Math.max(0, Math.ceil(resetMs - since)) }
  }
  return {
    requests: bucket(
      [requestsPerMinute, burst],
      [at(15), at(16)],
      present.requests - (used?.requests ?? 0),
    ),
    tokenRate:
      tokensPerMinute === undefined
        ? undefined
        : bucket(
            [tokensPerMinute, tokensPerMinute],
            [at(17), at(18)],
            present.rated - (used?.rated ?? 0),
          ),
    concurrency: {
      limit: concurrentRequests,
      used: at(19) + present.slots - (used?.slots ?? 0),
    },
    ...knownBudget(holding, budget),
  }
}

function knownBudget(
  holding: Holding,
  budget: Terms['budget'],
): Pick<ScopedFigures, 'tokens' | 'spend'> {
  const at = reader(holding)
  const { known, slice, day, month } = holding
  const [dayTotal, monthTotal] = known?.totals ?? [0, 0]
  const figure = (
    limit: number | undefined,
    settled: number,
    reserved: number,
    resetsAt: number,
  ): BudgetFigure | undefined =>
    limit === undefined ? undefined : { limit, settled, reserved: Math.max(0, reserved), resetsAt }
  return {
    tokens: figure(
      budget?.tokensPerDay,
      at(DAY_AT) + day.total - dayTotal,
      at(20) + slice.used.tokens - (known?.claim.used.tokens ?? 0),
      day.window.resetsAt,
    ),
    spend: figure(
      budget?.nanosPerMonth,
      at(MONTH_AT) + month.total - monthTotal,
      at(21) + slice.used.nanos - (known?.claim.used.nanos ?? 0),
      month.window.resetsAt,
    ),
  }
}

function reader({ known }: Holding): (index: number) => number {
  return (index) => known?.reply[index] ?? 0
}
