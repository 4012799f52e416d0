/** Charges one request to the rates of a tenant: without a slot, a hold, or anything that ends later. */
import type { AdmitResult, Rules } from '../../accounts/store.ts'
import { limitInTheWay } from './judgement.ts'
import { rateIn } from './lease.ts'
import type { Tenant } from './tenant.ts'

export function chargeRates(tenant: Tenant, rules: Rules, now: number): AdmitResult {
  const obstacle = limitInTheWay(tenant, { ...rules, concurrentRequests: undefined }, 0, now)
  if (obstacle !== undefined)
    return { outcome: 'refused', ...obstacle, figures: tenant.figures(rules, now) }
  rateIn(tenant, rules, 0, now)
  return { outcome: 'admitted', figures: tenant.figures(rules, now) }
}
