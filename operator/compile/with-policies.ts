/**
 * Adds TenantPolicies to the configuration of their gateway. A policy that makes the configuration invalid affects only
 * itself.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Amount, Effective } from '../../crds/tenant-policy.ts'
import { hashOf, type Payload } from '../../dataplane/delivery/signed.ts'
import { listBelow, recordOf, valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'
import { type Compiled, judgeGateway } from './compile.ts'
import { entriesOf, tenantsWith } from './policy-limits.ts'
import { invalid, type PolicyVerdict, unplaced } from './policy-verdict.ts'
import {
  accepted,
  budgetOfEach,
  type CountedPolicy,
  countPolicies,
  lastGood,
} from './tenant-policies.ts'

export interface WithPolicies<T> {
  readonly compiled: T
  /** By `namespace/name` of the TenantPolicy. */
  readonly policies: ReadonlyMap<string, PolicyVerdict>
}

type SectionFields = Readonly<Record<string, unknown>>

/** Tries it as it is, then its previous version, then without money, then without a route. */
const ROUNDS_MAX = 4

/** A large document is judged again in each round, so its policies are judged in a thread. */
export function withPolicies<T extends Pick<Compiled, 'configuration'>>(
  compiled: T,
  gateway: KubeObject,
  policies: readonly KubeObject[],
): WithPolicies<T> {
  const { counted, verdicts } = countPolicies(gateway, policies)
  const { configuration } = compiled
  if (configuration === undefined || counted.length === 0) return { compiled, policies: verdicts }
  let bearable = counted
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const faults = faultsOf(gateway, bearable)
    if (faults.size === 0) break
    bearable = bearable.map((one) => {
      const fault = faults.get(one.tenant)
      if (fault === undefined) return one
      const { verdict, effective } = withoutFault(gateway, one, { ...fault, isFirst: round === 0 })
      const before = verdicts.get(keyOf(one.policy))
      // An accepted rest does not hide that a part was refused.
      const isHidden = verdict.accepted && before?.accepted === false
      verdicts.set(keyOf(one.policy), isHidden ? { ...before, effective } : verdict)
      return { ...one, effective }
    })
  }
  for (const { policy, effective, message } of unplacedOf(gateway, bearable)) {
    // A part that was refused matters more.
    if (verdicts.get(keyOf(policy))?.accepted === true)
      verdicts.set(keyOf(policy), unplaced(message, effective))
  }
  const payload: Payload = {
    ...configuration.payload,
    gw: merged(configuration.payload.gw, bearable),
  }
  const filled = { ...configuration, payload, hash: hashOf(payload) }
  return { compiled: { ...compiled, configuration: filled }, policies: verdicts }
}

interface PolicyFault {
  readonly field: string
  /** Places of faulty further limits. */
  readonly limits?: ReadonlySet<number>
  readonly message: string
}

/** The previous version of the policy; otherwise without the faulty field, and with all others. */
function withoutFault(
  gateway: KubeObject,
  { policy, effective }: CountedPolicy,
  { field, message, isFirst, limits }: PolicyFault & { readonly isFirst: boolean },
): { readonly verdict: PolicyVerdict; readonly effective: Effective } {
  if (limits !== undefined)
    return withoutLimits(gateway, { policy, effective }, { message, isFirst, limits })
  const { usd_per_month, ...withoutMoney } = effective
  const { on_exceeded, downgrade_route, ...withoutRoute } = effective
  const isMoney = field === 'usd_per_month'
  const rest = isMoney ? withoutMoney : withoutRoute
  const asked = { ...amountsIn(policy, 'limits'), ...amountsIn(policy, 'budget') }
  // A ceiling in money over models without prices is a mistake of the gateway, not of the team.
  if (isMoney && asked.usd_per_month === undefined)
    return { verdict: accepted(rest, asked), effective: rest }
  const before = isFirst ? lastGood(gateway, policy) : undefined
  const said = `spec.budget.${field}: ${message}`
  return before === undefined
    ? { verdict: invalid(said, rest, 'The rest of the policy is active.'), effective: rest }
    : { verdict: invalid(said, before), effective: before }
}

/** The previous version of further limits that contradict the configuration; otherwise without these. */
function withoutLimits(
  gateway: KubeObject,
  { policy, effective }: Pick<CountedPolicy, 'policy' | 'effective'>,
  {
    message,
    isFirst,
    limits,
  }: { readonly message: string; readonly isFirst: boolean; readonly limits: ReadonlySet<number> },
): { readonly verdict: PolicyVerdict; readonly effective: Effective } {
  const { further_limits = [], ...others } = effective
  const before = isFirst ? lastGood(gateway, policy)?.further_limits : undefined
  const left = before ?? further_limits.filter((_, at) => !limits.has(at))
  const rest = { ...others, ...(left.length > 0 && { further_limits: left }) }
  const kept = before === undefined ? 'The rest of the policy is active.' : undefined
  return { verdict: invalid(message, rest, kept), effective: rest }
}

function amountsIn(policy: KubeObject, member: string): Partial<Record<Amount, number>> {
  return recordOf(valueBelow(policy, 'spec', member))
}

/** By tenant. Only money and routes can contradict the rest of the configuration. */
function faultsOf(
  gateway: KubeObject,
  counted: readonly CountedPolicy[],
): ReadonlyMap<string, PolicyFault> {
  const doubtful = counted.filter(
    ({ effective }) =>
      effective.usd_per_month !== undefined ||
      effective.downgrade_route !== undefined ||
      effective.further_limits !== undefined,
  )
  if (doubtful.length === 0) return new Map()
  const gw = recordOf(gateway.gw)
  const own = listBelow(gw, 'budgets').length
  const next = { ...gateway, gw: merged(gw, doubtful) }
  const { problems } = judgeGateway(next, 0, () => true)
  const entries = listBelow(next.gw, 'budgets')
  const faults = new Map<string, PolicyFault>()
  for (const { severity, path, message } of problems) {
    const index = path[1] === 'budgets' ? Number(path[2]) : Number.NaN
    if (severity !== 'error' || !(index >= own)) continue
    const isMoney = path[3] === 'spend_per_month_usd'
    const field = isMoney ? 'usd_per_month' : String(path[3] ?? 'on_exceeded')
    faults.set(String(valueBelow(entries[index], 'tenant')), { field, message })
  }
  return new Map([...faults, ...faultsOfLimits(gw, doubtful, problems)])
}

/** By tenant. Faults of further limits come before the others of a policy. */
function faultsOfLimits(
  gw: SectionFields,
  doubtful: readonly CountedPolicy[],
  problems: ReturnType<typeof judgeGateway>['problems'],
): ReadonlyMap<string, PolicyFault> {
  const own = listBelow(gw, 'limits').length
  const places = doubtful.flatMap(({ tenant, effective: { further_limits = [] } }) =>
    further_limits.map((limit, at) => ({ tenant, at, limit })),
  )
  const faults = new Map<string, PolicyFault & { readonly limits: Set<number> }>()
  for (const { severity, path, message } of problems) {
    const place = path[1] === 'limits' ? places[Number(path[2]) - own] : undefined
    if (severity !== 'error' || place === undefined) continue
    const field = ['spec', 'further_limits', place.limit.name, ...path.slice(3)].join('.')
    const known = faults.get(place.tenant)
    if (known !== undefined) known.limits.add(place.at)
    else
      faults.set(place.tenant, {
        field: 'further_limits',
        message: `${field}: ${message}`,
        limits: new Set([place.at]),
      })
  }
  return faults
}

/** Policies whose labels no upstream has. */
function unplacedOf(gateway: KubeObject, counted: readonly CountedPolicy[]) {
  const placing = counted.filter(({ effective }) => effective.requires !== undefined)
  if (placing.length === 0) return []
  const next = { ...gateway, gw: merged(recordOf(gateway.gw), placing) }
  const { problems } = judgeGateway(next, 0, () => true)
  const entries = listBelow(next.gw, 'tenants')
  return problems.flatMap(({ path, message }) => {
    if (path[1] !== 'tenants' || path[3] !== 'requires') return []
    const name = valueBelow(entries[Number(path[2])], 'name')
    const found = placing.find(({ tenant }) => tenant === name)
    return found === undefined ? [] : [{ ...found, message }]
  })
}

function merged(gw: SectionFields, counted: readonly CountedPolicy[]): Payload['gw'] {
  const each = recordOf(budgetOfEach({ metadata: { name: '' }, gw }))
  const limits = counted.flatMap(({ tenant, effective }) => limitsOf(tenant, effective))
  const budgets = counted.flatMap(({ tenant, effective }) => budgetOf(tenant, effective, each))
  const further = counted.flatMap(({ tenant, effective }) =>
    entriesOf(tenant, effective.further_limits ?? []),
  )
  const placed = counted.flatMap(({ tenant, effective: { requires } }) =>
    requires === undefined ? [] : [{ tenant, requires }],
  )
  const rateLimits = recordOf(gw.rate_limits)
  const tenants = [...listBelow(rateLimits, 'tenants'), ...limits]
  return {
    ...gw,
    ...(limits.length > 0 && { rate_limits: { ...rateLimits, tenants } }),
    ...(further.length > 0 && { limits: [...listBelow(gw, 'limits'), ...further] }),
    ...(placed.length > 0 && { tenants: tenantsWith(gw, placed) }),
    ...(budgets.length > 0 && { budgets: [...listBelow(gw, 'budgets'), ...budgets] }),
  }
}

function limitsOf(tenant: string, { boundBy, ...effective }: Effective) {
  if (boundBy?.requests_per_minute === 'gateway') return []
  const { requests_per_minute, concurrent_requests, tokens_per_minute } = effective
  return [
    {
      tenant,
      ...(requests_per_minute !== undefined && {
        requests_per_minute,
        // The gateway's default may exceed the team's requests per minute.
        burst: Math.max(1, Math.floor(requests_per_minute / 4)),
      }),
      ...(concurrent_requests !== undefined && { concurrent_requests }),
      ...(tokens_per_minute !== undefined && { tokens_per_minute }),
    },
  ]
}

/** An entry replaces the budget of each tenant, so amounts that a policy omits come from there. */
function budgetOf(tenant: string, effective: Effective, { tenant: _, ...each }: SectionFields) {
  const { tokens_per_day, usd_per_month, on_exceeded, downgrade_route, boundBy } = effective
  const isOverruled = [boundBy?.tokens_per_day, boundBy?.usd_per_month].includes('gateway')
  if (isOverruled || (tokens_per_day === undefined && usd_per_month === undefined)) return []
  const said = {
    ...(tokens_per_day !== undefined && { tokens_per_day }),
    ...(usd_per_month !== undefined && { spend_per_month_usd: usd_per_month }),
    ...(on_exceeded && { on_exceeded }),
    ...(downgrade_route && { downgrade_route }),
  }
  const { tokens_per_day: __, spend_per_month_usd: ___, ...usual } = each
  const entry = { ...usual, ...said }
  return isDeepStrictEqual(entry, each) ? [] : [{ tenant, ...entry }]
}
