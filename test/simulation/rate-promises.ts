/** The promises on rates and slots, of a tenant's counter or that of a limit. */
import { LEASE_MS, type Measures } from '../../dataplane/accounts/store.ts'
import type { Life } from './life.ts'
import { hasCrashed, type Past, rulesOf, SLICES } from './past.ts'
import { DRIFT_MAX_MS } from './plan.ts'

/** A counter with rates and slots, and the requests that it counts. */
interface Rated {
  /** Undefined for a limit. */
  readonly tenant: string | undefined
  readonly rates: readonly Measures[]
  /** A request of the rates alone counts only in the rates of its tenant. */
  readonly counts: (life: Life) => boolean
  readonly slots: (life: Life) => number | undefined
  readonly freedBy: 'settled' | 'settledInLimit'
}

export function ratedOf(past: Past): readonly Rated[] {
  const { tenants, limited } = past.plan
  const own = tenants.map((tenant) => ({
    tenant,
    rates: rulesOf(past),
    counts: ({ plan }: Life) => plan.tenant === tenant,
    slots: ({ rules }: Life) => rules.concurrentRequests,
    freedBy: 'settled' as const,
  }))
  if (limited === undefined) return own
  const { rates } = limited
  const slots = () => rates.concurrentRequests
  const ofLimit = { tenant: undefined, freedBy: 'settledInLimit' } as const
  return [...own, { rates: [rates], counts: ({ isCharge }) => !isCharge, slots, ...ofLimit }]
}

/** The largest at any time; undefined if the counter has no rate. */
function largestOf({
  rates,
}: Rated): { readonly rate: number; readonly burst: number } | undefined {
  const [rate = 0, burst = 0] = (['requestsPerMinute', 'burst'] as const).map((name) =>
    Math.max(0, ...rates.map((one) => one[name] ?? 0)),
  )
  return burst === 0 ? undefined : { rate, burst }
}

/** A bucket that leaks exactly, which is the bound in every window at once. */
export function rateOf(rated: Rated, past: Past): string[] {
  const largest = largestOf(rated)
  if (largest === undefined) return []
  const { rate, burst } = largest
  let [level, last, slack] = [0, 0, 0]
  const leaks = ((past.plan.skews.length - 1) * rate) / 60_000
  for (const deed of past.deeds) {
    // Replicas use their previous rules until their next call.
    if (deed.what === 'flushed') {
      if (isRestored(past)) slack += SLICES * burst + IN_FLIGHT + leaks * (deed.at - past.plan.wall)
      else level = -SLICES * burst * 60_000
    }
    if (deed.what !== 'admitted' || !rated.counts(deed.life)) continue
    // An admission whose answer got lost is taken back. One that came after its gateway had admitted the request by its share
    // charges nothing if the store already knew the request.
    const { isAdmitted, answeredAt = 0 } = deed.life
    if (!isAdmitted || deed.at > past.plan.wall + answeredAt) continue
    level = Math.max(Math.min(0, level), level - (deed.at - last) * rate) + 60_000
    last = deed.at
    if (level > (burst + slack) * 60_000) {
      return [`${deed.life.id} was admitted over the rate: ${level / 60_000} of ${burst}`]
    }
  }
  return []
}

/** Running replicas that reach the store pour again what they had poured; their own buckets leak at the whole rate. */
function isRestored({ plan }: Past): boolean {
  return !plan.failOpen && plan.mishaps.every(({ what }) => what === 'flush' || what === 'pause')
}

/** Admissions of the store whose answers were in transit when it lost its data. */
const IN_FLIGHT = 10

/** Without the store a gateway admits at most its share, and an outage allows no new burst. */
export function sharesOf(rated: Rated, past: Past): string[] {
  const largest = largestOf(rated)
  if (largest === undefined) return []
  const share = (limit: number) => Math.max(1, Math.floor(limit / past.plan.skews.length))
  const [rate, burst] = [share(largest.rate), share(largest.burst)]
  const buckets = new Map<string, { level: number; last: number }>()
  const local = past.lives.filter(({ isLocal }) => isLocal)
  for (const life of local.toSorted((one, other) => one.runsFrom - other.runsFrom)) {
    if (!rated.counts(life)) continue
    const gateway = life.id.replace(/-.*/, '')
    const { level, last } = buckets.get(gateway) ?? { level: 0, last: 0 }
    const poured = Math.max(0, level - (life.runsFrom - last) * rate) + 60_000
    buckets.set(gateway, { level: poured, last: life.runsFrom })
    // Its clock may be ahead.
    if (poured > burst * 60_000 + rate * DRIFT_MAX_MS)
      return [`${life.id} is over the share of ${gateway}: ${burst}`]
  }
  return []
}

export function slotsOf({ tenant, counts, slots, freedBy }: Rated, past: Past): string[] {
  const until = new Map<Life, number>()
  const slices = new Map<string, number>()
  let lost = 0
  const isLost = past.deeds.some(({ what }) => what === 'flushed')
  for (const deed of past.deeds) {
    // Slots that the store has lost return with the next beat, and may then exceed the limit. Those of a slice serve one
    // request after another.
    if (deed.what === 'flushed') {
      lost = [...slices.values()].reduce((sum, one) => sum + one, 0)
      until.clear()
      slices.clear()
    } else if (deed.what === 'claimed') {
      if (deed.tenant === tenant) slices.set(deed.slice, deed.slots)
    } else if (!counts(deed.life)) continue
    // A slice that the store has lost may end with its gateway before the store hears of it again.
    else if (isLost && deed.life.isHere && hasCrashed(deed.life, past)) continue
    else if (deed.what === freedBy) until.delete(deed.life)
    else if (deed.what === 'renewed') {
      if (until.has(deed.life)) until.set(deed.life, deed.at + LEASE_MS)
    } else if (deed.what === 'admitted' && !deed.life.isCharge) {
      until.set(deed.life, deed.at + LEASE_MS)
      const taken = [...until.values()].filter((end) => end > deed.at).length
      const limit = slots(deed.life)
      if (limit !== undefined && taken > limit + lost)
        return [`${deed.life.id} took slot ${taken} of ${limit}`]
    }
  }
  return []
}
