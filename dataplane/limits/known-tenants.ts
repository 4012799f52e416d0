/** The tenants that a key, a rule or a budget names. */
import type { Snapshot } from '../config/snapshot.ts'

type Naming = Pick<Snapshot, 'keys' | 'limits'>

/** Names with rules come first, and each may come more than once: a gateway may have many keys. */
export function* knownTenants({ limits, keys }: Naming): Generator<string> {
  yield* limits.rules.named
  for (const { record } of keys.values()) yield record.tenant
}

export function knowsTenant(tenant: string, naming: Naming): boolean {
  if (naming.limits.rules.named.has(tenant)) return true
  for (const known of knownTenants(naming)) if (known === tenant) return true
  return false
}
