/**
 * A gateway whose tenants have limits, with helpers to send requests as a tenant and to read its
 * limits.
 */
import assert from 'node:assert/strict'
import { aKey } from '../../helpers/a-key.ts'
import type { Heard } from '../../helpers/fake-upstream.ts'
import { aDocument, anUpstream, errorOf, Front } from '../../helpers/fake-upstream.ts'
import { type GatewayOptions, startGateway } from '../../helpers/gateway-process.ts'
import { until } from '../../helpers/until.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Limited {
  as(tenant: string): Front
  stop(): Promise<void>
}

export interface Keys {
  readonly records: readonly Fields[]
  readonly byTenant: ReadonlyMap<string, string>
}

/** A key for each tenant; `routes` limits some tenants to their routes. */
export function keysOf(
  tenants: readonly string[],
  routes: Readonly<Record<string, readonly string[]>> = {},
): Keys {
  const made = tenants.map((tenant) => ({
    tenant,
    ...aKey({ id: tenant, tenant, routes: routes[tenant] ?? ['*'] }),
  }))
  return {
    records: made.map(({ record }) => record),
    byTenant: new Map(made.map(({ tenant, key }) => [tenant, key])),
  }
}

/** `gw` is the configuration below that key, without keys; upstreams may omit common fields. */
export async function startLimited(
  gw: Fields & { readonly upstreams: readonly Fields[] },
  keys: Keys,
  options: Omit<GatewayOptions, 'config'> = {},
): Promise<Limited> {
  const config = limitedDocument(gw, keys)
  const env = { UPSTREAM_KEY: 'upstream-credential', ...options.env }
  const process = await startGateway({ ...options, env, config })
  return {
    as: (tenant) => new Front(process, keys.byTenant.get(tenant) ?? 'unknown'),
    stop: () => process.stop(),
  }
}

export function limitedDocument(
  gw: Fields & { readonly upstreams: readonly Fields[] },
  { records }: Keys,
) {
  return aDocument({ api_keys: records, ...gw, upstreams: gw.upstreams.map(anUpstream) })
}

/** A budget counts prompt and answer of the default usage: seven and three tokens. */
export const ANSWER_TOKENS = 10

/**
 * USD per million tokens: an answer of the default usage costs 7 * 10 + 3 * 20 = 130 millionths.
 */
export const PRICES = [{ model: 'served', input: 10, output: 20 }]
export const ANSWER_USD = 0.000_13

/** The headers that report a tenant's limits. */
export function limitHeaders({ headers }: Pick<Heard, 'headers'>): Record<string, unknown> {
  const ours = Object.entries(headers).filter(([name]) => /^x-gw-(ratelimit|budget)-/.test(name))
  return Object.fromEntries(ours.map(([name, value]) => [name.slice('x-gw-'.length), value]))
}

export async function standing(front: Front, tenant: string) {
  return await front.admin(`/limits/${tenant}`)
}

/** At the start a gateway waits only a second for its store. */
export async function untilStoreAnswers(front: Front): Promise<void> {
  await until('the store answers', async () => {
    const { store } = await front.admin('/status')
    return store.backend !== 'redis' || store.state === 'up'
  })
}

/** Resolves once the tenant has no running request and no reservation. */
export async function untilIdle(front: Front, tenant: string): Promise<void> {
  await until(
    `nothing of ${tenant} is held`,
    async () => {
      const { concurrent_requests, tokens_per_day, spend_per_month_usd } = await standing(
        front,
        tenant,
      )
      return (
        concurrent_requests.used === 0 &&
        (tokens_per_day?.reserved ?? 0) === 0 &&
        Number(spend_per_month_usd?.reserved ?? 0) === 0
      )
      // No timer of the gateway would have ended anything by then.
    },
    20,
  )
}

export function assertRefused(heard: Heard, status: number, code: string, reason: string) {
  assert.equal(heard.status, status, heard.text)
  const error = errorOf(heard)
  assert.deepEqual([error.code, error.reason], [code, reason])
  assert.equal(error.param, null)
  assert.equal(error.request_id, heard.headers['x-request-id'])
  return error
}

/** The gateway's 429 with a Retry-After; returns the error. */
export function assertLimited(heard: Heard, reason: string) {
  const error = assertRefused(heard, 429, 'ERR_GW_RATE_LIMIT_LOCAL', reason)
  assert.equal(error.type, 'rate_limit_error')
  assert.match(String(heard.headers['retry-after']), /^[1-9]\d*$/)
  assert.equal(heard.headers['retry-after-ms'], `${heard.headers['retry-after']}000`)
  return error
}

/** A 402 that no client should retry; returns the error. */
export function assertSpent(heard: Heard, reason: string) {
  const error = assertRefused(heard, 402, 'ERR_GW_BUDGET_EXCEEDED', reason)
  assert.equal(error.type, 'insufficient_quota')
  assert.equal(heard.headers['x-should-retry'], 'false')
  assert.equal(heard.headers['retry-after'], undefined)
  return error
}

/** The end of the current budget windows. */
export function windowEnds(now = new Date()) {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  return {
    day: new Date(Date.UTC(year, month, day + 1)).toISOString(),
    month: new Date(Date.UTC(year, month + 1, 1)).toISOString(),
  }
}
