/** The names of keys in Redis, which are unique for each tenant, group, key and counter of a limit. */
import { hash } from 'node:crypto'
import type { BudgetScope } from '../accounts/store.ts'

/** Part of every key, so that versions of the gateway with other data do not collide. */
const VERSION = 'v1'

/** Longer names are hashed, to bound the length of keys. */
const NAME_MAX = 100

/** The hash tag of the rows of usage. */
const USAGE = 'usage'

/** Prefix for the counters of a tenant, a group, a key or a limit; those of a key are next to those of its tenant. */
export function accountRoot(prefix: string, tenant: string, scope?: BudgetScope): string {
  return `${prefix}:${VERSION}:${tagOf(tenant, scope)}`
}

/** Prefix in one slot of a cluster, so that all rows of an hour fit one call. */
export function usageRoot(prefix: string): string {
  return `${prefix}:${VERSION}:{${USAGE}}`
}

/** The key where replicas announce themselves. */
export function replicasKey(prefix: string): string {
  return `${prefix}:${VERSION}:replicas`
}

/** The key of a small text that replicas share. */
export function cellKey(prefix: string, name: string): string {
  return `${prefix}:${VERSION}:{cell:${safeName(name)}}`
}

/** The channel for the key of the state of an account whose slices are wanted; scripts derive it from that key. */
export function wantedChannel(prefix: string): string {
  return `${prefix}:${VERSION}:wanted`
}

/** Tenants have no colon here, so a group cannot collide with a tenant. */
function tagOf(tenant: string, scope: BudgetScope | undefined): string {
  if (scope?.kind === 'group') return `{group:${safeName(scope.name)}}`
  const own = `{${tenant === USAGE ? escaped(tenant) : safeName(tenant)}}`
  if (scope === undefined) return own
  if (scope.kind === 'key') return `${own}:key:${safeName(scope.name)}`
  return scope.limit?.isOfTenant === true ? `${own}:${limitName(scope)}` : `{${limitName(scope)}}`
}

/** The id begins with the word, and has blanks between its parts. */
function limitName({ id }: BudgetScope): string {
  return `limit:${safeName(id.slice(id.startsWith('limit ') ? 'limit '.length : 'limit'.length))}`
}

/** A unique name for each tenant without special characters of keys; `{}` would be no hash tag. */
export function safeName(tenant: string): string {
  if (tenant === '') return '%'
  const plain = tenant.replace(/[^A-Za-z0-9_.@-]/g, escaped)
  return plain.length <= NAME_MAX ? plain : `%${hash('sha256', plain)}`
}

/** Escapes the first character by its number, which makes the name unique without further escapes. */
function escaped(name: string): string {
  return `%${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
}
