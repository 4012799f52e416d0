/** TenantPolicies of a gateway: which apply, and the amounts of each below its ceiling. Pure. */
import {
  AMOUNT_NAMES,
  type Amount,
  Effective,
  type PolicyLimit,
  TenantGrant,
  TenantPolicySpec,
} from '../../crds/tenant-policy.ts'
import { DEFAULT_LIMITS } from '../../dataplane/accounts/rules.ts'
import { type Finding, refuse } from '../../dataplane/config/judgement/problems.ts'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'
import { judgeLabels, judgeLimits } from './policy-limits.ts'
import {
  beyondGrant,
  conflict,
  FURTHER_LIMITS_MAX,
  invalid,
  NOT_GRANTED,
  POLICIES_MAX,
  type PolicyVerdict,
  TOO_MANY,
} from './policy-verdict.ts'

/** A policy that applies, and its amounts. */
export interface CountedPolicy {
  readonly policy: KubeObject
  readonly tenant: string
  readonly effective: Effective
}

const LIMITS = ['requests_per_minute', 'concurrent_requests', 'tokens_per_minute'] as const

type Ceiling = Partial<Record<Amount, number>>
type LimitAmounts = Partial<Record<Amount, number | undefined>>

/** The oldest policy of each tenant, and a verdict on every one. */
export function countPolicies(
  gateway: KubeObject,
  policies: readonly KubeObject[],
): { readonly counted: readonly CountedPolicy[]; readonly verdicts: Map<string, PolicyVerdict> } {
  const verdicts = new Map<string, PolicyVerdict>()
  const byTenant = new Map<string, CountedPolicy>()
  let room = FURTHER_LIMITS_MAX
  for (const policy of policies.toSorted(byAge)) {
    const tenant = String(valueBelow(policy, 'spec', 'tenant') ?? '')
    const ceiling = ceilingOf(gateway, policy, tenant)
    const first = byTenant.get(tenant)
    if (ceiling === undefined) verdicts.set(keyOf(policy), NOT_GRANTED)
    else if (first !== undefined)
      verdicts.set(keyOf(policy), conflict(tenant, first.policy, policy))
    else if (byTenant.size >= POLICIES_MAX) verdicts.set(keyOf(policy), TOO_MANY)
    else {
      const judged = judgePolicy(gateway, policy, ceiling)
      const { verdict, effective } = withinRoom(judged, room)
      room -= effective?.further_limits?.length ?? 0
      verdicts.set(keyOf(policy), verdict)
      if (effective !== undefined) byTenant.set(tenant, { policy, tenant, effective })
    }
  }
  return { counted: [...byTenant.values()], verdicts }
}

interface JudgedPolicy {
  readonly verdict: PolicyVerdict
  readonly effective: Effective | undefined
}

function withinRoom(judged: JudgedPolicy, room: number): JudgedPolicy {
  const { further_limits, ...rest } = judged.effective ?? {}
  if (further_limits === undefined || further_limits.length <= room) return judged
  const message = `spec.further_limits: the gateway accepts ${FURTHER_LIMITS_MAX} of all policies, and has older ones`
  return { verdict: beyondGrant(message, false, rest), effective: rest }
}

function judgePolicy(gateway: KubeObject, policy: KubeObject, ceiling: Ceiling): JudgedPolicy {
  const parsed = TenantPolicySpec.safeParse(policy.spec)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = ['spec', ...(issue?.path ?? [])].join('.')
    const verdict = invalid(`${place}: ${issue?.message}`, lastGood(gateway, policy, ceiling))
    return { verdict, effective: verdict.effective }
  }
  const { tenant, limits, budget, further_limits = [] } = parsed.data
  const { on_exceeded, downgrade_route } = budget ?? {}
  const asked: Ceiling = present({ ...limits, ...amountsOf(budget ?? {}) })
  const amounts = bounded(gateway, { tenant, asked, ceiling })
  const { allowed, faults } = judgeLimits(further_limits, { tenant, ceiling })
  const { requires, fault: ofLabels } = judgeLabels(gateway, tenant, parsed.data.requires)
  const rest = {
    ...amounts,
    ...(on_exceeded === 'downgrade' && { on_exceeded, downgrade_route }),
    ...(requires && { requires }),
  }
  const names = new Set(faults.map(({ at }) => further_limits[at]?.name))
  const before =
    faults.length === 0 ? [] : (lastGood(gateway, policy, ceiling)?.further_limits ?? [])
  const kept = before.filter(({ name }) => names.has(name))
  const effective = { ...rest, ...listed([...allowed, ...kept]) }
  const fault = faults[0]?.message ?? ofLabels
  const verdict =
    fault === undefined
      ? accepted(effective, asked)
      : beyondGrant(fault, kept.length > 0, effective)
  return { verdict, effective }
}

function listed(limits: readonly PolicyLimit[]): Pick<Effective, 'further_limits'> {
  return limits.length === 0 ? {} : { further_limits: [...limits] }
}

/** A policy that an edit made invalid keeps its earlier amounts, below the present ceiling. */
export function lastGood(
  gateway: KubeObject,
  policy: KubeObject,
  ceiling: Ceiling | undefined = ceilingOf(gateway, policy, tenantOf(policy)),
): Effective | undefined {
  const parsed = Effective.safeParse(valueBelow(policy, 'status', 'effective'))
  if (!parsed.success || ceiling === undefined) return undefined
  const { on_exceeded, downgrade_route, further_limits = [] } = parsed.data
  const tenant = tenantOf(policy)
  const { requires } = judgeLabels(gateway, tenant, parsed.data.requires)
  const asked = amountsOf(parsed.data)
  const amounts = bounded(gateway, { tenant, asked, ceiling })
  const { allowed } = judgeLimits(further_limits, { tenant, ceiling })
  const route = on_exceeded && { on_exceeded, downgrade_route }
  return { ...amounts, ...route, ...(requires && { requires }), ...listed(allowed) }
}

/** Mistakes of a TenantPolicy itself, independent of its gateway. */
export function faultsOfPolicy({ spec }: KubeObject): readonly Finding[] {
  const parsed = TenantPolicySpec.safeParse(spec ?? {})
  if (parsed.success) {
    const { tenant, further_limits = [] } = parsed.data
    return judgeLimits(further_limits, { tenant, ceiling: {} }).faults.map(({ message }) => {
      const [place = '', ...words] = message.split(': ')
      const path = place.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      return refuse(path, words.join(': '), 'Correct the field, or remove it.')
    })
  }
  return parsed.error.issues.map(({ path, message }) =>
    refuse(['spec', ...path.map(partOf)], message, 'Correct the field, or remove it.'),
  )
}

const partOf = (part: PropertyKey) => (typeof part === 'number' ? part : String(part))

/** The lower of policy and ceiling, amount by amount; the gateway's own entry for the tenant wins over both. */
function bounded(
  gateway: KubeObject,
  { tenant, asked, ceiling }: { tenant: string; asked: Ceiling; ceiling: Ceiling },
): Effective {
  const entry = (...path: string[]) =>
    listBelow(gateway, 'gw', ...path).find((one) => valueBelow(one, 'tenant') === tenant)
  const own = { limits: entry('rate_limits', 'tenants'), budget: entry('budgets') }
  const each = budgetOfEach(gateway)
  const boundBy: Partial<Record<Amount, 'ceiling' | 'gateway'>> = {}
  const amounts: Ceiling = {}
  for (const name of AMOUNT_NAMES) {
    const isLimit = LIMITS.some((limit) => limit === name)
    const entryOf = isLimit ? own.limits : own.budget
    const usual = isLimit ? defaultOf(gateway, name) : numberBelow(each, memberOf(name))
    const said = entryOf === undefined ? asked[name] : numberBelow(entryOf, memberOf(name))
    const wanted = said ?? usual
    // A written ceiling replaces the budget of each tenant; a team's policy cannot.
    const bound = ceiling[name] ?? (isLimit ? undefined : usual)
    const most = entryOf === undefined ? bound : undefined
    const value = most === undefined ? wanted : Math.min(most, wanted ?? most)
    if (value === undefined) continue
    amounts[name] = value
    if (entryOf !== undefined) boundBy[name] = 'gateway'
    else if (value !== wanted) boundBy[name] = 'ceiling'
  }
  return { ...amounts, ...(Object.keys(boundBy).length > 0 && { boundBy }) }
}

/** The budget of each tenant; an entry for one tenant would replace it. */
export function budgetOfEach(gateway: KubeObject): unknown {
  const entries = listBelow(gateway, 'gw', 'budgets')
  return entries.find((one) => valueBelow(one, 'tenant') === EACH_TENANT)
}

/** In place of a tenant's name. */
const EACH_TENANT = '*'

export function accepted(effective: Effective, asked: LimitAmounts): PolicyVerdict {
  const { boundBy = {} } = effective
  const by = (owner: string) => AMOUNT_NAMES.filter((name) => boundBy[name] === owner)
  const [ceiling, gateway] = [by('ceiling'), by('gateway')]
  if (ceiling.length === 0 && gateway.length === 0) {
    return { accepted: true, reason: 'Accepted', message: 'The gateway enforces it.', effective }
  }
  const bounds = ceiling.map((name) =>
    asked[name] === undefined
      ? `${name} is ${effective[name]}, the ceiling`
      : `${name} ${asked[name]} is above the ceiling and is replaced by ${effective[name]}`,
  )
  const overruled =
    gateway.length === 0
      ? []
      : [`the gateway has its own entry for the tenant, which decides ${gateway.join(', ')}`]
  const message = `${[...bounds, ...overruled].join('; ')}.`
  const reason = ceiling.length > 0 ? 'Bounded' : 'Overruled'
  return { accepted: true, reason, message, effective }
}

/** Per amount the lowest ceiling of all grants that list the namespace and the tenant; undefined without one. */
function ceilingOf(gateway: KubeObject, policy: KubeObject, tenant: string): Ceiling | undefined {
  const grants = listBelow(gateway, 'spec', 'tenants', 'from').flatMap((entry) => {
    const parsed = TenantGrant.safeParse(entry)
    if (!parsed.success) return []
    const { namespaces, tenants, ceiling } = parsed.data
    const lists = (entries: readonly string[], value: string) =>
      entries.includes('*') || entries.includes(value)
    const isMeant = lists(namespaces, policy.metadata.namespace ?? '') && lists(tenants, tenant)
    return isMeant ? [ceiling ?? {}] : []
  })
  if (grants.length === 0 || tenant === '') return undefined
  const lowest: Ceiling = {}
  for (const name of AMOUNT_NAMES) {
    const said = grants.flatMap((ceiling) => ceiling[name] ?? [])
    if (said.length > 0) lowest[name] = Math.min(...said)
  }
  return lowest
}

/** `namespace/name` of the gateway that a policy is for. */
export function gatewayOfPolicy(policy: KubeObject): string {
  const gateway = String(valueBelow(policy, 'spec', 'gateway') ?? '')
  return gateway.includes('/') ? gateway : `${policy.metadata.namespace ?? ''}/${gateway}`
}

function tenantOf(policy: KubeObject): string {
  return String(valueBelow(policy, 'spec', 'tenant') ?? '')
}

function defaultOf(gateway: KubeObject, name: Amount): number | undefined {
  const written = numberBelow(valueBelow(gateway, 'gw', 'rate_limits', 'default'), name)
  return written ?? (DEFAULT_LIMITS as Ceiling)[name]
}

function memberOf(name: Amount): string {
  return name === 'usd_per_month' ? 'spend_per_month_usd' : name
}

function amountsOf(fields: Partial<Record<Amount, number | undefined>>): Ceiling {
  return present(Object.fromEntries(AMOUNT_NAMES.map((name) => [name, fields[name]])))
}

function present(fields: Partial<Record<Amount, number | undefined>>): Ceiling {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said)
}

function numberBelow(value: unknown, name: string): number | undefined {
  const found = valueBelow(value, name)
  return typeof found === 'number' ? found : undefined
}

/** The older one wins; the name decides between two of one second. */
function byAge(one: KubeObject, other: KubeObject): number {
  const [a, b] = [one, other].map(
    (policy) => `${policy.metadata.creationTimestamp ?? ''} ${keyOf(policy)}`,
  )
  return (a ?? '') < (b ?? '') ? -1 : 1
}
