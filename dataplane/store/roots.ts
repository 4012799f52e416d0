/** Where everything stands in Redis: names that no tenant, group or key can have in common. */
import { hash } from 'node:crypto'
import type { BudgetScope } from '../accounts/store.ts'

/** Part of every key: versions of the gateway that store something else must not meet. */
const VERSION = 'v1'

/** Longer names are hashed: a key has a bounded length. */
const NAME_MAX = 100

/** The hash tag of the rows of usage, which were there before a tenant of that name was thought of. */
const USAGE = 'usage'

/** The counters of a tenant, a group or a key; a key's stand beside those of its tenant. */
export function accountRoot(prefix: string, tenant: string, scope?: BudgetScope): string {
  return `${prefix}:${VERSION}:${tagOf(tenant, scope)}`
}

/** One slot of a cluster, so that all rows of an hour are one call. */
export function usageRoot(prefix: string): string {
  return `${prefix}:${VERSION}:{${USAGE}}`
}

/** Where replicas announce themselves. */
export function replicasKey(prefix: string): string {
  return `${prefix}:${VERSION}:replicas`
}

/** No tenant's name has a colon here, so no group meets one. */
function tagOf(tenant: string, scope: BudgetScope | undefined): string {
  if (scope?.kind === 'group') return `{group:${safeName(scope.name)}}`
  const own = `{${tenant === USAGE ? escaped(tenant) : safeName(tenant)}}`
  return scope === undefined ? own : `${own}:key:${safeName(scope.name)}`
}

/** One name for each tenant, without what means something in a key; `{}` would be no hash tag. */
export function safeName(tenant: string): string {
  if (tenant === '') return '%'
  const plain = tenant.replace(/[^A-Za-z0-9_.@-]/g, escaped)
  return plain.length <= NAME_MAX ? plain : `%${hash('sha256', plain)}`
}

/** The first unit by its number, as no other name has it: the rest of the name needs no escape. */
function escaped(name: string): string {
  return `%${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
}
