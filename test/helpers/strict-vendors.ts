/** The vendors that a fake upstream plays, with their refusals. */
import { providerNamed } from '../../dataplane/config/document/canonical.ts'
import type { Vendor } from './vendors/index.ts'
import { type Refusal, refusalBy, vendorAt } from './vendors/refusal.ts'
import type { Sent } from './vendors/rules/contract.ts'

export type { Vendor } from './vendors/index.ts'
/** A reason: it takes everything. */
export type Chosen = Vendor | { readonly takesAll: string } | undefined

/** The providers that are configured at an origin. */
const configured = new Map<string, Set<Vendor>>()

/** The endpoint may be a reference, and the provider have another name. */
export function configuredAt(endpoint: string, named: string): void {
  const origin = URL.parse(endpoint)?.origin
  const provider = providerNamed(named) as Vendor | undefined
  if (origin === undefined || provider === undefined) return
  configured.set(origin, (configured.get(origin) ?? new Set()).add(provider))
}

/** undefined: one of the vendors accepts it. */
export function refusalAt(url: string, chosen: Chosen, sent: Sent): Refusal | undefined {
  if (typeof chosen === 'object') return undefined
  const known = chosen === undefined ? configured.get(url) : new Set([chosen])
  const vendors = known ?? new Set([vendorAt(sent)].filter((one) => one !== undefined))
  const refusals = [...vendors].map((one) => refusalBy(one, sent))
  return refusals.every((one) => one !== undefined) ? refusals[0] : undefined
}
