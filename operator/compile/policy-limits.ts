/** Further limits of a TenantPolicy: those of its tenant alone, below the ceiling of the gateway. Pure. */
import type { Amount, PolicyLimit } from '../../crds/tenant-policy.ts'

type Ceiling = Partial<Record<Amount, number>>

export interface JudgedLimits {
  readonly allowed: readonly PolicyLimit[]
  /** Why others are not; `at` is the place in the list. */
  readonly faults: readonly LimitFault[]
}

export interface LimitFault {
  readonly at: number
  /** With the field. */
  readonly message: string
}

export function judgeLimits(
  limits: readonly PolicyLimit[],
  { tenant, ceiling }: { readonly tenant: string; readonly ceiling: Ceiling },
): JudgedLimits {
  const faults = limits.flatMap((limit, at): LimitFault[] => {
    const fault =
      repeatedName(limits, at) ?? foreignTenant(limit, tenant) ?? aboveCeiling(limit, ceiling)
    return fault === undefined ? [] : [{ at, message: `spec.further_limits.${at}.${fault}` }]
  })
  const faulty = new Set(faults.map(({ at }) => at))
  return { allowed: limits.filter((_, at) => !faulty.has(at)), faults }
}

/** Entries of `gw.limits`. The name of the tenant keeps their names apart from those of the gateway and other teams. */
export function entriesOf(tenant: string, limits: readonly PolicyLimit[]) {
  return limits.map(({ name, for: { tenants: _, ...selectors } = {}, ...measures }) => ({
    name: `${tenant}/${name}`,
    for: { ...selectors, tenant },
    ...measures,
  }))
}

function repeatedName(limits: readonly PolicyLimit[], at: number): string | undefined {
  const name = limits[at]?.name
  return limits.findIndex((one) => one.name === name) === at
    ? undefined
    : `name: there is another limit "${name}"`
}

export function foreignTenant({ for: selectors = {} }: PolicyLimit, tenant: string) {
  const { tenant: one, tenants = [] } = selectors
  const foreign = [...(one === undefined ? [] : [one]), ...tenants].find((name) => name !== tenant)
  if (foreign === undefined) return undefined
  const field = foreign === one ? 'tenant' : 'tenants'
  return `for.${field}: a policy limits only its own tenant "${tenant}", not "${foreign}"`
}

/** Days of a window; a total has no end, so it is not compared. */
const DAYS = { hour: 1, day: 1, week: 7, '30d': 30, month: 31, total: Number.POSITIVE_INFINITY }

function aboveCeiling(limit: PolicyLimit, ceiling: Ceiling): string | undefined {
  const { budget, burst, requests_per_minute, concurrent_requests, tokens_per_minute } = limit
  const { input_tokens_per_minute, output_tokens_per_minute } = limit
  const { per = 'day', tokens, usd, raise } = budget ?? {}
  const ofDay = ceiling.tokens_per_day
  const ofMonth = per === 'total' ? undefined : ceiling.usd_per_month
  const compared: readonly [string, number | undefined, number | undefined][] = [
    ['requests_per_minute', requests_per_minute, ceiling.requests_per_minute],
    ['burst', burst, ceiling.requests_per_minute],
    ['concurrent_requests', concurrent_requests, ceiling.concurrent_requests],
    ['tokens_per_minute', tokens_per_minute, ceiling.tokens_per_minute],
    ['input_tokens_per_minute', input_tokens_per_minute, ceiling.tokens_per_minute],
    ['output_tokens_per_minute', output_tokens_per_minute, ceiling.tokens_per_minute],
    ['budget.tokens', tokens, ofDay && ofDay * DAYS[per]],
    ['budget.usd', usd, ofMonth],
    ['budget.raise.tokens', sum(tokens, raise?.tokens), ofDay && ofDay * DAYS[per]],
    ['budget.raise.usd', sum(usd, raise?.usd), ofMonth],
  ]
  for (const [field, value, most] of compared) {
    if (value === undefined || most === undefined || value <= most) continue
    return `${field}: ${value} is above the ${most} that the gateway grants`
  }
  return undefined
}

function sum(cap: number | undefined, more: number | undefined): number | undefined {
  return cap === undefined || more === undefined ? undefined : cap + more
}
