/**
 * Further limits of a TenantPolicy, which are for its tenant alone and below the ceiling of the gateway, and labels of upstreams,
 * which it requires in addition to those that the gateway requires. Pure.
 */
import type { Amount, PolicyLimit } from '../../crds/tenant-policy.ts'
import { EACH_TENANT } from '../../dataplane/accounts/holders.ts'
import { listBelow, recordOf, valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'

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

type LabelValues = Readonly<Record<string, string>>

interface JudgedLabels {
  /** Absent if there are none. */
  readonly requires?: LabelValues
  /** Why another one is not among them, with the field. */
  readonly fault?: string
}

/** A policy may narrow what the gateway allows: it cannot replace a label that the gateway requires. */
export function judgeLabels(
  gateway: KubeObject,
  tenant: string,
  asked: LabelValues | undefined,
): JudgedLabels {
  if (asked === undefined) return {}
  const fixed = labelsOfGateway(gateway.gw, tenant)
  const isFaulty = ([label, value]: readonly [string, string]) =>
    Object.hasOwn(fixed, label) && fixed[label] !== value
  const entries = Object.entries(asked)
  const allowed = entries.filter((one) => !isFaulty(one))
  const [fault] = entries.filter(isFaulty)
  return {
    ...(allowed.length > 0 && { requires: Object.fromEntries(allowed) }),
    ...(fault && { fault: replacing(fault, fixed) }),
  }
}

function replacing([label, value]: readonly [string, string], fixed: LabelValues): string {
  const kept = `the gateway requires ${label}=${fixed[label]} of this tenant`
  return `spec.requires.${label}: ${kept}, and a policy cannot replace it by "${value}"`
}

/** `gw.tenants` with the labels of policies. An entry replaces the one for each tenant, so it repeats the labels of that. */
export function tenantsWith(
  gw: unknown,
  policies: readonly { readonly tenant: string; readonly requires: LabelValues }[],
): readonly unknown[] {
  const byTenant = new Map(policies.map(({ tenant, requires }) => [tenant, requires]))
  const made = policies.map(({ tenant, requires }) => ({
    name: tenant,
    requires: { ...requires, ...labelsOfGateway(gw, tenant) },
    may_match_none: true,
  }))
  const others = listBelow(gw, 'tenants').filter(
    (one) => !byTenant.has(String(valueBelow(one, 'name'))),
  )
  return [...others, ...made]
}

function labelsOfGateway(gw: unknown, tenant: string): LabelValues {
  const entries = listBelow(gw, 'tenants')
  const named = (name: string) => entries.find((one) => valueBelow(one, 'name') === name)
  const labels = recordOf(valueBelow(named(tenant) ?? named(EACH_TENANT), 'requires'))
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]))
}
