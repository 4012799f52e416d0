/** How tenants stand, for those who ask: answers that were not admitted, the admin API, gauges. */
import type { Gateway, Visit } from '../gateway.ts'
import type { BucketFigure, BudgetFigure } from '../store/contract.ts'
import { limitHeaders, usdText } from './headers.ts'

/** Every answer to an authenticated request says how its tenant stands; admission has said it already where it ran. */
export async function describeLimits({ active, gateway, trace, response }: Visit): Promise<void> {
  const { limits } = active.snapshot
  if (limits === undefined || trace.tenant === undefined || response.limits !== undefined) return
  const rules = limits.rules.of(trace.tenant)
  response.limits = limitHeaders(await gateway.store.read(trace.tenant, rules))
}

/** Body of GET /limits/{tenant}: every figure with its window and reset. undefined: nothing is limited. */
export async function limitsOf(tenant: string, { active, store, clock, infra }: Gateway) {
  const { limits } = active.snapshot
  if (limits === undefined) return undefined
  const figures = await store.read(tenant, limits.rules.of(tenant))
  const now = clock.wall()
  return {
    tenant,
    requests_per_minute: bucket(figures.requests, now),
    ...(figures.tokenRate === undefined
      ? {}
      : { tokens_per_minute: bucket(figures.tokenRate, now) }),
    concurrent_requests: figures.concurrency,
    ...(figures.tokens === undefined
      ? {}
      : { tokens_per_day: { window: 'day', ...tokens(figures.tokens) } }),
    ...(figures.spend === undefined
      ? {}
      : { spend_per_month_usd: { window: 'month', ...spend(figures.spend) } }),
    infra_tokens_this_hour: infra.tokens.get(tenant) ?? 0,
  }
}

function bucket({ limit, remaining, resetMs }: BucketFigure, now: number) {
  return { window: 'minute', limit, remaining, resets_at: new Date(now + resetMs).toISOString() }
}

function tokens({ limit, settled, reserved, resetsAt }: BudgetFigure) {
  return { limit, used: settled, reserved, resets_at: new Date(resetsAt).toISOString() }
}

function spend({ limit, settled, reserved, resetsAt }: BudgetFigure) {
  return {
    limit: usdText(limit),
    used: usdText(settled),
    reserved: usdText(reserved),
    resets_at: new Date(resetsAt).toISOString(),
  }
}
