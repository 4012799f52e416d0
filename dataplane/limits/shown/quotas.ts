/** How the quotas of upstreams stand, as far as all attempts there share them. */
import type { Rules } from '../../accounts/store.ts'
import type { Clock } from '../../base/clock.ts'
import { spentBy } from '../attempt-quotas.ts'
import { forecast } from '../forecast.ts'
import type { LimitParts } from '../parts.ts'
import { shownFigures } from './counters.ts'

export interface ShownQuota {
  /** Why the upstream gets no attempt now; undefined if it may. */
  readonly full: string | undefined
  /** Each figure by its limit, its holder and its measure. */
  readonly limits: Readonly<Record<string, unknown>>
}

/** By the name of the upstream. */
export type ShownQuotas = ReadonlyMap<string, ShownQuota>

/** The least that an attempt needs. */
const LEAST = { tokens: 1, nanos: 0, input: 1 }

export async function quotasShown({
  active,
  store,
  clock,
}: Pick<LimitParts, 'active' | 'store' | 'clock'>): Promise<ShownQuotas> {
  const { quotas } = active.snapshot.limits
  if (quotas === undefined) return new Map()
  const shown = quotas.all().map(async (quota): Promise<[string, ShownQuota][]> => {
    const rules = quota.shared(clock)
    if (rules === undefined) return []
    const figures = await store.read(quota.account, rules)
    const limits = Object.fromEntries(
      (figures.scoped ?? []).flatMap((one) => shownFigures(one, rules, clock.wall())),
    )
    return [[quota.upstream, { full: fullBy(rules, figures, clock), limits }]]
  })
  return new Map((await Promise.all(shown)).flat())
}

function fullBy(
  rules: Rules,
  figures: Parameters<typeof forecast>[0],
  clock: Clock,
): string | undefined {
  const wanted = { estimate: LEAST, downgradeEstimate: undefined }
  const predicted = forecast(figures, rules, wanted, clock.wall())
  return predicted.outcome === 'refused' ? spentBy(predicted, rules, clock).why : undefined
}
