/** The budgets of `limits[]` as gauges: those of counters that the configuration names, never those of end users or tags. */
import { type KnownCounter, knownCounters } from '../../accounts/further/known-counters.ts'
import type { ScopedFigures } from '../../accounts/store.ts'
import type { LimitParts } from '../parts.ts'
import { knownValues } from './counters.ts'

type GaugedLimits = Pick<LimitParts, 'active' | 'clock' | 'store' | 'metrics'>

/** Most counters of all limits in a scrape. */
const COUNTERS_MAX = 1_000

/** Most of one limit, so that one for each of many keys leaves room for the others. */
const OF_ONE_MAX = 200

/** Most that are read in one call. */
const TOGETHER_MAX = 50

/** Counters that one call reads. */
export interface LimitQuestion {
  /** The account beside which the counters are kept. */
  readonly account: string
  readonly scoped: readonly KnownCounter['scoped'][]
}

/** The fewest reads of the budgets; gauges of others are removed. */
export function budgetsOfLimits({ active, clock, metrics }: GaugedLimits): LimitQuestion[] {
  const { further, quotas } = active.snapshot.limits
  if (further === undefined && quotas === undefined) {
    retain(metrics, [])
    return []
  }
  const known = knownValues({}, { active })
  const ofRequests = [...(further?.list(clock) ?? [])].map((compiled) =>
    knownCounters(compiled, known),
  )
  const ofUpstreams = [...(quotas?.all() ?? [])].flatMap((quota) =>
    [...quota.list(clock)].map((compiled) =>
      knownCounters(compiled, known).map((one) => ({ ...one, tenant: quota.account })),
    ),
  )
  const counters = [...ofRequests, ...ofUpstreams]
    .flatMap((own) => own.filter(({ scoped }) => scoped.rule !== undefined).slice(0, OF_ONE_MAX))
    .slice(0, COUNTERS_MAX)
  retain(
    metrics,
    counters.map(({ scoped }) => scoped),
  )
  return [...Map.groupBy(counters, ({ tenant }) => tenant)].flatMap(([account, own]) =>
    chunks(own.map(({ scoped }) => scoped)).map((scoped) => ({ account, scoped })),
  )
}

export async function showBudgetsOfLimits(
  { account, scoped }: LimitQuestion,
  { active, store, metrics }: GaugedLimits,
): Promise<void> {
  const rules = { ...active.snapshot.limits.rules.of(account), scoped }
  const asked = new Set(scoped.map(({ scope }) => scope.id))
  for (const figures of (await store.read(account, rules)).scoped ?? [])
    if (asked.has(figures.scope.id)) show(figures, metrics)
}

function show({ scope, tokens, spend }: ScopedFigures, metrics: GaugedLimits['metrics']): void {
  const { name, limit } = scope
  if (limit === undefined) return
  const labels = [name, counterOf(scope), limit.period.per] as const
  const used = tokens ?? spend
  if (used === undefined) return
  if (tokens !== undefined) metrics.limitTokens.at(...labels).value = tokens.settled
  if (spend !== undefined) metrics.limitSpend.at(...labels).value = spend.settled / 1e9
  metrics.limitUsed.at(...labels).value = used.settled / used.limit
}

function retain(metrics: GaugedLimits['metrics'], known: readonly KnownCounter['scoped'][]): void {
  const names = new Set(known.map(({ scope }) => scope.name))
  const counters = new Set(known.map(({ scope }) => counterOf(scope)))
  const windows = new Set<string>(known.map(({ scope }) => scope.limit?.period.per ?? ''))
  for (const family of [metrics.limitTokens, metrics.limitSpend, metrics.limitUsed]) {
    family.retain('limit', (name) => names.has(name))
    family.retain('counter', (counter) => counters.has(counter))
    family.retain('window', (window) => windows.has(window))
  }
}

/** The value that the limit has a counter for; empty if it has one counter. */
function counterOf({ id, name }: ScopedFigures['scope']): string {
  return id.slice(`limit ${name} `.length)
}

function chunks<T>(list: readonly T[]): T[][] {
  const made: T[][] = []
  for (let at = 0; at < list.length; at += TOGETHER_MAX)
    made.push(list.slice(at, at + TOGETHER_MAX))
  return made
}
