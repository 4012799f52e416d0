/** How counters of `limits[]` stand, for the admin API. */
import { type KnownCounter, knownCounters } from '../../accounts/further/known-counters.ts'
import { isForAll } from '../../accounts/further/selectors.ts'
import type { Rules, ScopedFigures } from '../../accounts/store.ts'
import type { FurtherLimitSection } from '../../schema/further-limits.ts'
import { usdText } from '../headers.ts'
import { knownTenants } from '../known-tenants.ts'
import type { LimitParts } from '../parts.ts'
import { bucketShown, budgetShown, slotsShown } from './figures.ts'

type ShownLimits = Pick<LimitParts, 'active' | 'clock' | 'store'>

/** Most counters in one answer. */
const COUNTERS_MAX = 200

/** The given ones narrow the answer. */
export interface CounterQuestion {
  readonly limit?: string | undefined
  readonly tenant?: string | undefined
  readonly key?: string | undefined
  readonly user?: string | undefined
}

/** Why the question has no answer; undefined if it has one. */
export function unknownCounters(
  { limit, key }: CounterQuestion,
  { active }: Pick<ShownLimits, 'active'>,
): string | undefined {
  const { section, keys } = active.snapshot
  const names = new Set(section.limits.map(({ name }) => name))
  if (limit !== undefined && !names.has(limit)) {
    return `there is no limit "${limit.slice(0, 100)}" in limits[]`
  }
  if (key === undefined || keys.values().some(({ record }) => record.id === key)) return undefined
  return `there is no key with the id "${key.slice(0, 100)}"`
}

/** Each figure by its limit, its holder and its measure: `limit:each-key (key "k1") requests_per_minute`. */
export async function countersShown(question: CounterQuestion, gateway: ShownLimits) {
  const { active, store, clock } = gateway
  const { further, quotas, rules } = active.snapshot.limits
  if (further === undefined && quotas === undefined) return {}
  const known = knownValues(question, gateway)
  const ofRequests = [...(further?.list(clock) ?? [])]
    .filter(({ section }) => isAsked(section, question))
    .flatMap((compiled) => knownCounters(compiled, known))
  const counters = [...ofRequests, ...countersOfQuotas(question, known, gateway)].slice(
    0,
    COUNTERS_MAX,
  )
  const byTenant = Map.groupBy(counters, ({ tenant }) => tenant)
  const parts = [...byTenant].map(async ([tenant, own]) => {
    const scoped = own.map((one) => one.scoped)
    const figures = await store.read(tenant, { ...rules.of(tenant), scoped })
    const now = clock.wall()
    return (figures.scoped ?? []).flatMap((one) => shownFigures(one, { scoped }, now))
  })
  return Object.fromEntries((await Promise.all(parts)).flat())
}

/** A quota that all attempts share is nothing of a tenant, a key or an end user. */
function countersOfQuotas(
  question: CounterQuestion,
  known: Parameters<typeof knownCounters>[1],
  { active, clock }: ShownLimits,
): KnownCounter[] {
  const { limit: _, ...callers } = question
  const isOfCaller = Object.values(callers).some((one) => one !== undefined)
  return [...(active.snapshot.limits.quotas?.all() ?? [])].flatMap((quota) =>
    [...quota.list(clock)]
      .filter(({ section }) => isAsked(section, question) && !(isOfCaller && isForAll(section.for)))
      .flatMap((compiled) => knownCounters(compiled, known))
      .map(({ scoped }) => ({ tenant: quota.account, scoped })),
  )
}

/** A question for an end user is one for the counters of end users. */
function isAsked(
  { name, for: { each } }: FurtherLimitSection,
  { limit, user }: CounterQuestion,
): boolean {
  return (limit === undefined || limit === name) && (user === undefined || each === 'user')
}

export function knownValues(
  { tenant, key, user }: CounterQuestion,
  { active }: Pick<ShownLimits, 'active'>,
): Parameters<typeof knownCounters>[1] {
  const { snapshot } = active
  const records = snapshot.keys
    .values()
    .map(({ record }) => record)
    .filter((one) => (tenant ?? one.tenant) === one.tenant && (key ?? one.id) === one.id)
  return {
    tenants: tenant === undefined ? [...new Set(knownTenants(snapshot))] : [tenant],
    keys: [...records],
    routes: [...snapshot.routes.keys()],
    models: [...snapshot.routes.keys(), ...Object.keys(snapshot.section.aliases)],
    user,
    isOfKey: key !== undefined,
    isOfTenant: tenant !== undefined,
  }
}

/** `rules`: those under which the figures were read. */
export function shownFigures(
  figures: ScopedFigures,
  { scoped = [] }: Pick<Rules, 'scoped'>,
  now: number,
): [string, unknown][] {
  const { scope, requests, tokenRate, concurrency, tokens, spend } = figures
  const { limit, name } = scope
  if (limit === undefined) return []
  const of = `limit:${name} (${limit.holder})`
  const { burst = 1 } = scoped.find((one) => one.scope.id === scope.id)?.rates ?? {}
  const rate = limit.counts === 'all' ? 'tokens_per_minute' : `${limit.counts}_tokens_per_minute`
  const { per } = limit.period
  return [
    ...(requests
      ? [figure('requests_per_minute', { ...bucketShown(requests, burst, now), burst })]
      : []),
    ...(tokenRate ? [figure(rate, bucketShown(tokenRate, tokenRate.limit, now))] : []),
    ...(concurrency ? [figure('concurrent_requests', slotsShown(concurrency))] : []),
    ...(tokens ? [figure('budget tokens', budgetShown(per, tokens, Number))] : []),
    ...(spend ? [figure('budget usd', budgetShown(per, spend, usdText))] : []),
  ]

  function figure(measure: string, value: unknown): [string, unknown] {
    return [`${of} ${measure}`, value]
  }
}
