/** `gw.rate_limits`, `gw.budgets[]` and `gw.pricing`: what tenants may use, and what it costs. */
import { z } from 'zod'
import { count, labels, name, text } from './fields.ts'

const limitFields = {
  requests_per_minute: count(100_000_000).optional().describe('Refill of the token bucket.'),
  burst: count(100_000_000)
    .optional()
    .describe('Capacity of the bucket; a quarter of requests_per_minute if absent.'),
  concurrent_requests: count(1_000_000)
    .optional()
    .describe('Simultaneous requests; a stream holds its place to the end.'),
  tokens_per_minute: count()
    .optional()
    .describe('Token rate: a request is charged by its estimate, then corrected by its usage.'),
  priority: z
    .enum(['low', 'normal'])
    .optional()
    .describe('low priority may use at most three quarters of max_queue_depth; advisory.'),
}

const Redis = z.strictObject({
  url: text().describe(
    'redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// URL, usually ${env:REDIS_URL}.',
  ),
  key_prefix: z
    .string()
    .min(1)
    .max(200)
    .default('gw')
    .describe(
      'Prefix of every key the gateway writes; in a pod gw:NAMESPACE/NAME if absent, so that gateways count apart.',
    ),
  timeout_ms: count(60_000)
    .default(50)
    .describe(
      'Milliseconds to wait for an answer of Redis; at least 250 with fail_open: false, because no replica can decide alone.',
    ),
  fail_open: z
    .boolean()
    .default(false)
    .describe(
      'true: each replica applies its share of each limit while Redis is unreachable; false: 503.',
    ),
})

export const RateLimits = z.strictObject({
  default: z
    .strictObject(limitFields)
    .optional()
    .describe('For tenants without a rule; 120 / 30 / 16 if absent.'),
  tenants: z
    .array(z.strictObject({ tenant: name().describe('Tenant the rule is for.'), ...limitFields }))
    .max(10_000)
    .default([])
    .describe('Rules by tenant; fields that a rule omits come from default.'),
  backend: z
    .enum(['memory', 'redis'])
    .default('memory')
    .describe('redis shares the counters over all replicas.'),
  redis: Redis.optional().describe('The shared store; needed by backend: redis.'),
})

/** A name, or "*". */
export const tenantOrEach = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^(?:\*|[A-Za-z0-9][A-Za-z0-9._:/-]*)$/,
      'must be a tenant: start with a letter or digit and hold only letters, digits and . _ : / -, or "*" for each tenant',
    )

export const Budget = z.strictObject({
  tenant: tenantOrEach()
    .optional()
    .describe('Tenant the budget is for; "*": each tenant that has no other budget of this form.'),
  tenants: z
    .array(tenantOrEach())
    .min(1)
    .max(1000)
    .optional()
    .describe('Tenants that share one counter, instead of tenant.'),
  name: name()
    .optional()
    .describe(
      'Name of the shared counter, which keeps the counter if the tenants change. Default: the names of the tenants.',
    ),
  key: name().optional().describe('Id of the key that the budget is for, instead of tenant.'),
  tokens_per_day: count(1_000_000_000_000).optional().describe('Tokens a UTC day.'),
  spend_per_month_usd: z.number().positive().max(9_000_000).optional().describe('USD a UTC month.'),
  on_exceeded: z
    .enum(['reject', 'downgrade'])
    .default('reject')
    .describe('reject: answer 402; downgrade: use the downgrade route.'),
  downgrade_route: name().optional().describe('Route for requests after the budget is spent.'),
  alert_thresholds: z
    .array(z.number().min(0).max(1))
    .max(16)
    .default([])
    .describe('Fractions of the cap that raise an alert.'),
})

const usdPerMillion = () => z.number().min(0).max(1_000_000)

const PriceTier = z.strictObject({
  above_input_tokens: count(100_000_000).describe(
    'A request with more input tokens is charged by this tier for all its tokens.',
  ),
  input: usdPerMillion().optional().describe('Default: the price of the model.'),
  output: usdPerMillion().optional().describe('Default: the price of the model.'),
  cached_input: usdPerMillion().optional().describe('Default: the price of the model.'),
  cache_write: usdPerMillion().optional().describe('Default: the price of the model.'),
  cache_write_1h: usdPerMillion().optional().describe('Default: the price of the model.'),
  reasoning_output: usdPerMillion().optional().describe('Default: the price of the model.'),
})

const ModelPrice = z.strictObject({
  model: text().describe(
    "An upstream's model, or a pattern such as openai/*. An exact name wins, then the longest pattern.",
  ),
  input: usdPerMillion().describe('USD per million input tokens.'),
  output: usdPerMillion().describe('USD per million output tokens.'),
  cached_input: usdPerMillion()
    .optional()
    .describe('USD per million cached input tokens; input if absent.'),
  cache_write: usdPerMillion()
    .optional()
    .describe('USD per million input tokens that are written into a cache; input if absent.'),
  cache_write_1h: usdPerMillion()
    .optional()
    .describe(
      'USD per million input tokens that a cache keeps for an hour; 1.6 times cache_write if absent, without that 2 times input.',
    ),
  reasoning_output: usdPerMillion()
    .optional()
    .describe('USD per million reasoning tokens; output if absent.'),
  search: z
    .number()
    .min(0)
    .max(1000)
    .optional()
    .describe(
      'USD for one search: a request to rank documents, or a web_search of Anthropic; 0 if absent.',
    ),
  tiers: z.array(PriceTier).max(8).optional().describe('Other prices for long inputs.'),
  source: text().optional().describe('Price list that the prices come from; for people.'),
  as_of: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a day such as 2026-11-26')
    .optional()
    .describe('Day on which the prices were read from it; for people.'),
})

/** In a file the bare list of models is accepted too. */
export const Pricing = z.strictObject({
  models: z.array(ModelPrice).max(1024).default([]).describe('Price list by model.'),
  infra_cost_per_hour_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe("Each hour's cost is split over tenants by their tokens in it."),
})

/** `gw.tenants[]`: which upstreams the requests of a tenant may go to. */
export const Tenant = z.strictObject({
  name: tenantOrEach().describe('The tenant; "*": each tenant without an entry.'),
  requires: labels().describe(
    'Labels that an upstream must have. Requests of the tenant go to no other upstream, in any strategy, fallback or repeat, ' +
      'and no other upstream makes vectors of their texts.',
  ),
  may_match_none: z
    .boolean()
    .optional()
    .describe(
      'Whether no upstream may have the labels: requests of the tenant then get 403. Otherwise such an entry is a mistake.',
    ),
})
