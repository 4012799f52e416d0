/** How tenants and counters of limits[] stand, as answers of the admin API. */
import type { Gateway } from '../gateway/gateway.ts'
import { knownTenants } from '../limits/known-tenants.ts'
import { countersShown, unknownCounters } from '../limits/shown/counters.ts'
import { limitsOf, unknownTenant } from '../limits/shown/tenants.ts'

type Query = Readonly<Record<string, string>>

interface Answer {
  readonly status: number
  readonly body: unknown
}

const TENANTS_SHOWN = 50
const TENANTS_MAX = 200

export async function standing(tenant: string, gateway: Gateway): Promise<Answer> {
  const unknown = unknownTenant(tenant, gateway)
  return unknown === undefined ? ok(await limitsOf(tenant, gateway)) : missing(unknown)
}

export async function counters(
  { limit, tenant, key, user }: Query,
  gateway: Gateway,
): Promise<Answer> {
  const question = { limit, tenant, key, user }
  const unknown =
    unknownCounters(question, gateway) ??
    (tenant === undefined ? undefined : unknownTenant(tenant, gateway))
  return unknown === undefined ? ok(await countersShown(question, gateway)) : missing(unknown)
}

export async function standings(query: Query, gateway: Gateway): Promise<Answer> {
  const asked = Number(query.limit ?? TENANTS_SHOWN)
  const most =
    Number.isSafeInteger(asked) && asked > 0 ? Math.min(asked, TENANTS_MAX) : TENANTS_SHOWN
  const names = new Set(knownTenants(gateway.active.snapshot))
  const found = [...names].filter((name) => name.includes(query.name ?? ''))
  const shown = found.slice(0, most).map((name) => limitsOf(name, gateway))
  return ok({ total: found.length, tenants: await Promise.all(shown) })
}

function ok(body: unknown): Answer {
  return { status: 200, body }
}

function missing(message: string): Answer {
  return { status: 404, body: { error: { message } } }
}
