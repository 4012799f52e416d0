/** Rate limits and the store that counts them. */

import { EACH_TENANT } from '../../../accounts/holders.ts'
import { valueBelow } from '../../../json/values.ts'
import type { Section } from '../../../schema/index.ts'
import { type Path, refuse, warn } from '../../judgement/problems.ts'
import { parseRedisUrl, REDIS_URL_FORMS, RedisUrlError } from '../../redis-url.ts'
import { at, type Check, quoted } from '../contract.ts'
import { writtenFairness } from '../upstreams/fairness.ts'

type RateLimits = NonNullable<Section['rate_limits']>
type Rule = NonNullable<RateLimits['default']>

const REQUESTS_PER_MINUTE_DEFAULT = 120

const redisIsConfigured: Check = ({ rate_limits }) =>
  rate_limits?.backend === 'redis' && rate_limits.redis === undefined
    ? [
        refuse(
          at('rate_limits', 'backend'),
          'backend redis needs redis.url',
          'Add redis: with url: ${env:REDIS_URL}, or use backend: memory.',
        ),
      ]
    : []

const redisIsUsed: Check = ({ rate_limits }) =>
  rate_limits?.redis !== undefined && rate_limits.backend !== 'redis'
    ? [
        refuse(
          at('rate_limits', 'redis'),
          `cannot take effect: backend is ${rate_limits.backend}`,
          'Write backend: redis, or remove redis.',
        ),
      ]
    : []

const redisUrlIsReadable: Check = ({ rate_limits }) => {
  const url = rate_limits?.redis?.url
  if (url === undefined || url.includes('${')) return []
  try {
    parseRedisUrl(url)
    return []
  } catch (error) {
    if (!(error instanceof RedisUrlError)) throw error
    return [refuse(at('rate_limits', 'redis', 'url'), error.message, REDIS_URL_FORMS)]
  }
}

const stateDirIsUsed: Check = ({ rate_limits, state_dir }) =>
  rate_limits?.backend === 'redis' && state_dir !== undefined
    ? [
        refuse(
          at('state_dir'),
          'cannot take effect: counters are kept in Redis',
          'Remove state_dir, or use backend: memory.',
        ),
      ]
    : []

const ruleLimitsSomething: Check = ({ rate_limits }) =>
  rulesOf(rate_limits).flatMap(({ rule, path }) => {
    const { requests_per_minute, burst, concurrent_requests, tokens_per_minute, priority } = rule
    const limits = [requests_per_minute, burst, concurrent_requests, tokens_per_minute, priority]
    return limits.every((limit) => limit === undefined)
      ? [refuse(path, 'limits nothing', 'Give it requests_per_minute, or remove it.')]
      : []
  })

const burstIsSensible: Check = ({ rate_limits }) =>
  rulesOf(rate_limits).flatMap(({ rule, path }) => {
    const rate =
      rule.requests_per_minute ??
      rate_limits?.default?.requests_per_minute ??
      REQUESTS_PER_MINUTE_DEFAULT
    const { burst } = rule
    if (burst === undefined || (burst >= rate * 0.05 && burst <= rate)) return []
    const side = burst > rate ? 'over 100 %' : 'under 5 %'
    const message = `burst ${burst} is ${side} of requests_per_minute (${rate})`
    return [
      warn([...path, 'burst'], message, `About a quarter is advised: ${Math.ceil(rate / 4)}.`),
    ]
  })

const priorityCanYield: Check = (section) => {
  const { rate_limits, upstreams } = section
  if (upstreams.some(({ max_queue_depth }) => max_queue_depth !== undefined)) return []
  if (writtenFairness(section).length > 0) return []
  return rulesOf(rate_limits).flatMap(({ rule, path }) => {
    if (rule.priority !== 'low') return []
    const message = 'low has no effect: no upstream has a max_queue_depth, so none is ever full'
    return [warn([...path, 'priority'], message, 'Give the upstreams a max_queue_depth.')]
  })
}

/** Without rate_limits the default limits apply, and they are counted per replica too. */
const countersAreShared: Check = ({ rate_limits, budgets }, { written }) => {
  const replicas = Math.max(
    numberAt(written, ['spec', 'replicas']),
    numberAt(written, ['spec', 'autoscaling', 'maxReplicas']),
  )
  if (replicas <= 1 || rate_limits?.backend === 'redis') return []
  const hasBudgetsOnly = rate_limits === undefined && budgets.length > 0
  const path = hasBudgetsOnly ? at('budgets') : at('rate_limits')
  const message = `counters are per replica: ${replicas} replicas admit ${replicas} times the limit`
  return [warn(path, message, 'Use backend: redis, which shares them.')]
}

const tenantsHaveKeys: Check = (section, { suggestions, hasOtherKeys }) => {
  const { rate_limits, budgets, limits, api_keys, api_keys_file } = section
  const known = new Set(api_keys.map(({ tenant }) => tenant))
  if (known.size === 0 || api_keys_file !== undefined) return []
  const named = [
    ...(rate_limits?.tenants ?? []).map(({ tenant }, index) => ({
      tenant,
      path: at('rate_limits', 'tenants', index, 'tenant'),
    })),
    ...budgets.flatMap(({ tenant, tenants = [] }, index) => [
      ...(tenant === undefined || tenant === EACH_TENANT
        ? []
        : [{ tenant, path: at('budgets', index, 'tenant') }]),
      ...tenants.map((one, entry) => ({
        tenant: one,
        path: at('budgets', index, 'tenants', entry),
      })),
    ]),
    ...writtenFairness(section).flatMap(({ fairness, path }) =>
      (['weights', 'guarantee'] as const).flatMap((field) =>
        Object.keys(fairness[field]).map((tenant) => ({ tenant, path: [...path, field, tenant] })),
      ),
    ),
    ...limits.flatMap(({ for: { tenant, tenants = [] } }, index) => [
      ...(tenant === undefined || tenant === EACH_TENANT
        ? []
        : [{ tenant, path: at('limits', index, 'for', 'tenant') }]),
      ...tenants.map((one, entry) => ({
        tenant: one,
        path: at('limits', index, 'for', 'tenants', entry),
      })),
    ]),
  ]
  const keyless = named.filter(({ tenant }) => !known.has(tenant) && !hasOtherKeys?.(tenant))
  return keyless.map(({ tenant, path }) => {
    const suggestion = suggestions.didYouMean(tenant, known)
    const message = `no key belongs to tenant ${quoted(tenant)}${suggestion}`
    return warn(path, message, 'Correct the name, or add a key of that tenant.')
  })
}

export const limitChecks = [
  redisIsConfigured,
  redisIsUsed,
  redisUrlIsReadable,
  stateDirIsUsed,
  ruleLimitsSomething,
  burstIsSensible,
  priorityCanYield,
  countersAreShared,
  tenantsHaveKeys,
]

function rulesOf(limits: RateLimits | undefined): { rule: Rule; path: Path }[] {
  const whole = limits?.default
  return [
    ...(whole === undefined ? [] : [{ rule: whole, path: at('rate_limits', 'default') }]),
    ...(limits?.tenants ?? []).map((rule, index) => ({
      rule,
      path: at('rate_limits', 'tenants', index),
    })),
  ]
}

function numberAt(tree: unknown, path: Path): number {
  const value = valueBelow(tree, ...path)
  return typeof value === 'number' ? value : 0
}
