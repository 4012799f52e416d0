/** The record of a key as a request looks it up: scopes, routes and times resolved once. */
import type { ApiKeyRecord } from '../schema/keys.ts'

export interface KeyEntry {
  readonly record: ApiKeyRecord
  /** Milliseconds since the epoch; Infinity when the key does not expire. */
  readonly expiresAt: number
  readonly usable: boolean
  readonly invokes: boolean
  readonly lists: boolean
  /** undefined: every route. */
  readonly routes: ReadonlySet<string> | undefined
  /** The patterns among the routes, without their `*`; undefined if there are none. */
  readonly prefixes: readonly string[] | undefined
  /** By name, as in rows of usage: `team=blue`. undefined: the key sets none. */
  readonly tags: ReadonlyMap<string, string> | undefined
  /** The end user that a token names in a declared claim. */
  readonly endUser?: string
}

/** The keys of a configuration, for look-ups by requests. */
export type Keys = ReadonlyMap<string, KeyEntry> & Pick<KeyTable, 'names'>

/** Keys by lower-case hex SHA-256, and the tenants that they name: tokens look up one of a hundred thousand. */
export class KeyTable extends Map<string, KeyEntry> {
  readonly #tenants = new Map<string, number>()

  /** Its members exist only after the constructor, which would add entries earlier. */
  static of(entries: Iterable<readonly [string, KeyEntry]>): KeyTable {
    const table = new KeyTable()
    for (const [digits, entry] of entries) table.set(digits, entry)
    return table
  }

  override set(digits: string, entry: KeyEntry): this {
    this.delete(digits)
    const { tenant } = entry.record
    this.#tenants.set(tenant, (this.#tenants.get(tenant) ?? 0) + 1)
    return super.set(digits, entry)
  }

  override delete(digits: string): boolean {
    const tenant = this.get(digits)?.record.tenant
    if (tenant === undefined) return false
    const others = (this.#tenants.get(tenant) ?? 1) - 1
    if (others === 0) this.#tenants.delete(tenant)
    else this.#tenants.set(tenant, others)
    return super.delete(digits)
  }

  override clear(): void {
    this.#tenants.clear()
    super.clear()
  }

  names(tenant: string): boolean {
    return this.#tenants.has(tenant)
  }
}

/** Whether the key may use the route; `sent`: the model that the client names, if an upstream gets it. */
export function mayUse(
  { routes, prefixes }: Pick<KeyEntry, 'routes' | 'prefixes'>,
  { name, sent }: { readonly name: string; readonly sent?: string },
): boolean {
  if (routes === undefined || routes.has(name)) return true
  if (sent === undefined) return false
  return routes.has(sent) || (prefixes?.some((prefix) => sent.startsWith(prefix)) ?? false)
}

export function keyOf(record: ApiKeyRecord): KeyEntry {
  const patterns = record.routes.filter((route) => route.length > 1 && route.endsWith('*'))
  return Object.freeze({
    record,
    expiresAt: record.expires_at ? Date.parse(record.expires_at) : Number.POSITIVE_INFINITY,
    usable: record.revoked_at === undefined && record.rotated_to === undefined,
    invokes: record.scopes.includes('models:invoke'),
    lists: record.scopes.includes('models:list'),
    routes: record.routes.includes('*') ? undefined : new Set(record.routes),
    prefixes: patterns.length === 0 ? undefined : patterns.map((one) => one.slice(0, -1)),
    tags: record.tags === undefined ? undefined : tagsByName(record.tags),
  })
}

function tagsByName(tags: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(tags).map(([name, value]) => [name, `${name}=${value}`]))
}
