/** Charges the usage of a request, and reports the thresholds of budgets that it reaches. */

import { alertOf } from '../accounts/alerts.ts'
import { labelOf, ruleOf } from '../accounts/holders.ts'
import type { Crossing, Settlement, Settling } from '../accounts/store.ts'
import { sendAlert } from './alerts/webhook.ts'
import type { Lease } from './leases.ts'
import type { LimitParts } from './parts.ts'

/** The parts of the gateway that a charge reads and changes. */
export type Charger = Pick<
  LimitParts,
  'active' | 'infra' | 'leases' | 'log' | 'metrics' | 'store' | 'webhook'
>

/** Never throws, and does not wait for a store that answers later. */
export function charge(lease: Lease, gateway: Charger): void {
  gateway.leases.remove(lease)
  const used = lease.used()
  gateway.infra.add(lease.hold.tenant, used.tokens)
  // Alerts use the present configuration, not the cap under which the request was admitted.
  const { tenant, key } = lease.hold
  const { rules, further } = gateway.active.snapshot.limits
  const { budget, scoped = [] } = rules.of(tenant, key)
  const held = lease.hold.scoped?.map(({ scope }) => ({
    scope,
    rule: scope.kind === 'limit' ? further?.ruleOf(scope) : ruleOf({ budget, scoped }, scope),
  }))
  settle({ ...lease.hold, budget, scoped: held, used }, gateway)
}

/** The same for an attempt at an upstream, under the quotas of its provider. */
export function chargeQuota(lease: Lease, gateway: Charger): void {
  gateway.leases.remove(lease)
  const { quotas } = gateway.active.snapshot.limits
  const { tenant } = lease.hold
  const held = lease.hold.scoped?.map(({ scope }) => ({
    scope,
    rule: quotas?.ruleOf(tenant, scope),
  }))
  settle({ ...lease.hold, scoped: held, used: lease.used() }, gateway)
}

function settle(settling: Settling, gateway: Charger): void {
  const settlement = gateway.store.settle(settling)
  const tell = ({ crossed }: Settlement) => {
    for (const crossing of crossed) announce(crossing, gateway)
  }
  if (settlement instanceof Promise) void settlement.then(tell, () => undefined)
  else tell(settlement)
}

function announce(crossing: Crossing, gateway: Charger): void {
  const { active, metrics, log, webhook } = gateway
  const alert = alertOf(crossing)
  const { window, threshold, kind } = alert
  countAlert(crossing, metrics)
  const share = `${Math.round(threshold * 100)} %`
  log.event(
    'warn',
    'budget_alert',
    `${holderIn(crossing)} has used ${share} of its ${kind} of the ${window}.`,
    {
      ...alert,
    },
  )
  sendAlert(alert, webhook, active.snapshot.section.alerts)
}

function countAlert({ scope, tenant, window, threshold }: Crossing, metrics: Charger['metrics']) {
  const reached = String(threshold)
  if (scope === undefined) metrics.budgetAlerts.at(tenant, window, reached).value++
  else metrics.scopedBudgetAlerts.at(labelOf(scope), window, reached).value++
}

function holderIn({ scope, tenant }: Crossing): string {
  if (scope === undefined) return `Tenant "${tenant}"`
  if (scope.limit !== undefined) return `Limit "${scope.name}" of ${scope.limit.holder}`
  return `${scope.kind === 'key' ? 'Key' : 'Group'} "${scope.name}"`
}
