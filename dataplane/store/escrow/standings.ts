/** Sums over slices and the requests under them, for an outage and for metrics. */
import { larger, sane } from '../../accounts/amounts.ts'
import type { AdmitRequest, Figures, ScopedFigures } from '../../accounts/store.ts'
import type { Holding, Terms } from './holding.ts'
import { figuresOf, scopedFiguresOf, type TenantTerms } from './known-figures.ts'
import { KINDS, nothing, type Quantities } from './quantities.ts'
import type { Running } from './taken.ts'

/** Knowledge of this replica at the beginning of an outage. */
export interface Standings {
  readonly tenants: readonly (readonly [tenant: string, figures: Figures])[]
  readonly scopes: readonly ScopedFigures[]
  /** The running requests that were admitted without a call, with what they hold. */
  readonly running: readonly AdmitRequest[]
}

export function standingsOf(
  holdings: Iterable<Holding>,
  running: Iterable<Running>,
  now: number,
): Standings {
  const tenants: [string, Figures][] = []
  const scopes: ScopedFigures[] = []
  for (const holding of holdings) {
    if (holding.known === undefined) continue
    const { account, scope, terms } = holding
    if (scope !== undefined) scopes.push(...scopedFiguresOf(holding, terms, now))
    else if (isOfTenant(terms)) tenants.push([account.tenant, figuresOf(holding, terms, now)])
  }
  const requests = Array.from(running, ({ request, taken: { tokens, nanos } }) => {
    return { ...request, estimate: larger(sane(request.estimate), { tokens, nanos }) }
  })
  return { tenants, scopes, running: requests }
}

function isOfTenant(terms: Terms): terms is TenantTerms {
  return terms.requestsPerMinute !== undefined
}

export interface Held extends Quantities {
  /** How many accounts have something idle. */
  accounts: number
}

/** The idle amounts of slices. */
export function heldIn(holdings: Iterable<Holding>, now: number): Held {
  const sum: Held = { ...nothing(), accounts: 0 }
  for (const { slice } of holdings) {
    if (!slice.isGood(now) || !slice.hasIdle) continue
    sum.accounts++
    for (const kind of KINDS) sum[kind] += slice.idle[kind]
  }
  return sum
}
