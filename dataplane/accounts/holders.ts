/** The holder of a budget: a tenant, each tenant, a group that shares one counter, a key, or a limit. */
import type { Section } from '../schema/index.ts'
import type { BudgetRule, BudgetScope, Rules } from './store.ts'

export type BudgetSection = Section['budgets'][number]

/** Used instead of a tenant's name. */
export const EACH_TENANT = '*'

/** An upstream has counters like a tenant, in an account of this name: no tenant has a blank in its name. */
const OF_UPSTREAM = 'upstream '

export function accountOfUpstream(upstream: string): string {
  return `${OF_UPSTREAM}${upstream}`
}

export function isAccountOfUpstream(account: string): boolean {
  return account.startsWith(OF_UPSTREAM)
}

/** The upstream of such an account. */
export function upstreamOf(account: string): string {
  return account.slice(OF_UPSTREAM.length)
}

/**
 * The counter of a group or a key; undefined for the budget of a tenant or of each tenant. Its id has a blank, which no
 * tenant's name has.
 */
export function scopeOf({ tenants, key, name }: BudgetSection): BudgetScope | undefined {
  if (key !== undefined) return { kind: 'key', name: key, id: `key ${key}` }
  if (tenants === undefined) return undefined
  const group = name ?? tenants.toSorted().join('+')
  return { kind: 'group', name: group, isNamed: name !== undefined, id: `group ${group}` }
}

/** The value of the label `budget`. */
export function labelOf({ kind, name }: BudgetScope): string {
  return `${kind}:${name}`
}

/** The rule of the budget that decided: the tenant's own, or the one of a scope. */
export function ruleOf(
  { budget, scoped = [] }: Pick<Rules, 'budget' | 'scoped'>,
  scope: BudgetScope | undefined,
): BudgetRule | undefined {
  if (scope === undefined) return budget
  return scoped.find((one) => one.scope.id === scope.id)?.rule
}

/** `"acme"`, `key "k1"`: for messages to people who write the configuration. */
export function holderOf({ tenant, tenants = [], key, name }: BudgetSection): string {
  const quoted = (one: string) => JSON.stringify(one)
  if (key !== undefined) return `key ${quoted(key)}`
  if (tenant !== undefined) return tenant === EACH_TENANT ? 'each tenant' : quoted(tenant)
  if (name !== undefined) return `group ${quoted(name)}`
  const shown = tenants.slice(0, 3).map(quoted).join(', ')
  return tenants.length > 3 ? `${shown} and ${tenants.length - 3} more` : shown
}
