/** The tenants that a key, a rule or a budget names. */
import type { Snapshot } from '../config/snapshot.ts'

type Naming = Pick<Snapshot, 'keys' | 'limits'>

/** Yields tenants with rules first. A tenant may come more than once, because it may have many keys. */
export function* knownTenants({ limits, keys }: Naming): Generator<string> {
  yield* limits.rules.named
  for (const { record } of keys.values()) yield record.tenant
}

export function knowsTenant(tenant: string, naming: Naming): boolean {
  const { limits, keys } = naming
  return limits.rules.named.has(tenant) || keys.names(tenant)
}
