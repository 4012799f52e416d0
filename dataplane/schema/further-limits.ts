/** `gw.limits[]`: limits of any dimension, beside those of tenants. */
import { z } from 'zod'
import { count, name } from './fields.ts'
import { Tags } from './keys.ts'
import { tenantOrEach } from './limits.ts'

const PATTERN_RULE = 'must be a name of a model; * stands for any characters'

/** One counter for each value of it. */
const EACH = /^(?:tenant|key|user|route|model|tag\/[A-Za-z0-9][A-Za-z0-9._:/-]*)$/

const Selectors = z.strictObject({
  tenant: tenantOrEach().optional().describe('A tenant; "*": all of them.'),
  tenants: z.array(name()).min(1).max(1000).optional().describe('Tenants, instead of tenant.'),
  key: name().optional().describe('Id of a key.'),
  route: name().optional().describe('Name of a route.'),
  model: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[!-~]+$/, PATTERN_RULE)
    .optional()
    .describe(
      'The model that the client names, or that of an upstream of the route; * stands for any characters.',
    ),
  operation: z
    .enum(['chat', 'completions', 'embeddings', 'rerank', 'transcription'])
    .optional()
    .describe('Operation of the request.'),
  upstream: name()
    .optional()
    .describe("Name of an upstream: its provider's quota. Full, it is passed over."),
  tag: Tags.optional().describe(
    'Values of tags, such as {team: blue}; usage.tags declares the names.',
  ),
  each: z
    .string()
    .max(260)
    .regex(EACH, 'must be tenant, key, user, route, model or tag/NAME')
    .optional()
    .describe(
      'One counter for each tenant, key, user, route, model or tag/NAME; absent: one for all that are selected.',
    ),
})

const LimitBudget = z.strictObject({
  usd: z.number().positive().max(9_000_000).optional().describe('USD of a window.'),
  tokens: count(1_000_000_000_000).optional().describe('Tokens of a window, instead of usd.'),
  per: z
    .enum(['hour', 'day', 'week', 'month', '30d', 'total'])
    .describe('The window: of the clock and the calendar, weeks from Monday; total never ends.'),
  time_zone: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('IANA time zone in which windows begin, such as Europe/Berlin; UTC if absent.'),
  alerts: z
    .array(z.number().min(0).max(1))
    .max(16)
    .default([])
    .describe('Fractions of the cap that raise an alert.'),
  on_exceeded: z
    .enum(['reject', 'downgrade'])
    .default('reject')
    .describe('reject: answer 402; downgrade: use the downgrade route.'),
  downgrade_route: name().optional().describe('Route for requests after the budget is spent.'),
  raise: z
    .strictObject({
      usd: z.number().positive().max(9_000_000).optional().describe('USD added to the cap.'),
      tokens: count(1_000_000_000_000).optional().describe('Tokens added to the cap.'),
      until: z.iso
        .datetime({ offset: true, error: 'must be an ISO 8601 time such as 2027-01-31T00:00:00Z' })
        .describe('From this moment on the cap is the old one.'),
      by: z.string().min(1).max(200).optional().describe('The person who raised it, or why.'),
    })
    .optional()
    .describe('A higher cap for some time.'),
})

export const FurtherLimit = z.strictObject({
  name: name().describe('Name in refusals, alerts and lists. The counter keeps it.'),
  for: Selectors.describe('The requests that it is for: those that have all of these.'),
  requests_per_minute: count(100_000_000).optional().describe('Refill of the token bucket.'),
  burst: count(100_000_000)
    .optional()
    .describe('Capacity of the bucket; a quarter of requests_per_minute if absent.'),
  tokens_per_minute: count()
    .optional()
    .describe('Token rate: a request is charged by its estimate, then corrected by its usage.'),
  input_tokens_per_minute: count().optional().describe('The same for tokens of prompts.'),
  output_tokens_per_minute: count().optional().describe('The same for tokens of answers.'),
  concurrent_requests: count(1_000_000)
    .optional()
    .describe('Simultaneous requests; a stream holds its place to the end.'),
  budget: LimitBudget.optional().describe('Tokens or money of a window.'),
})

export type FurtherLimitSection = z.output<typeof FurtherLimit>
