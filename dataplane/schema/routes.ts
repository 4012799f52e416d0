/** `gw.routes[]` and `gw.aliases`: the names clients send in `model`, and where they lead. */
import { z } from 'zod'
import { NESTED, STRATEGY_NAMES } from './constants.ts'
import { Fairness } from './fairness.ts'
import { count, name, seconds, text, time } from './fields.ts'

const member = () =>
  z
    .string()
    .min(1)
    .max(253 + NESTED.length)
    .regex(
      /^(?:route )?[A-Za-z0-9][A-Za-z0-9._:/-]*$/,
      'must start with a letter or digit and hold only letters, digits and . _ : / -',
    )

/** In a file an entry may also be the bare upstream name, or `{route: NAME}`. */
export const RouteUpstream = z.strictObject({
  name: member().describe('Name of an upstream.'),
  weight: z
    .number()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe('Share under the weighted strategy.'),
})

const Spill = z.enum(['fallback', 'none'])

const Overflow = z.strictObject({
  on_queue_saturated: Spill.default('none').describe(
    'fallback: spill when the primary is full, instead of shedding.',
  ),
  on_upstream_error: Spill.default('none').describe('fallback: spill when the primary fails.'),
  on_timeout: Spill.default('none').describe(
    'fallback: spill when the primary is silent too long.',
  ),
  on_slo_breach: Spill.default('none').describe(
    'fallback: spill while the first tokens of the primary miss the objective of the route (slo).',
  ),
})

const Retry = z.strictObject({
  max_attempts: count(10)
    .optional()
    .describe('Most attempts of one request, fallbacks included; 2 advised.'),
  backoff: z.enum(['exponential']).default('exponential').describe('How the delay grows.'),
  initial_delay_ms: z.int().min(0).max(60_000).default(100).describe('First delay before jitter.'),
  jitter: z
    .enum(['full'])
    .default('full')
    .describe('Full jitter: a random delay between 0 and the backoff.'),
  respect_retry_after: z.boolean().default(true).describe("Honour an upstream's Retry-After."),
})

const Semantic = z.strictObject({
  easy: name().describe('Upstream for easy prompts.'),
  hard: name().describe('Upstream for hard prompts.'),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('Prompts with this score or more are hard.'),
  classifier: z
    .enum(['builtin', 'embedding'])
    .default('builtin')
    .describe('How prompts are scored.'),
  embedding: z
    .strictObject({
      upstream: name().describe('Upstream that embeds the prompt.'),
      model: text().optional().describe("Embedding model. Default: the upstream's model."),
      exemplars: z
        .strictObject({
          easy: z.array(z.string().min(1).max(4096)).max(256).default([]),
          hard: z.array(z.string().min(1).max(4096)).max(256).default([]),
        })
        .describe('Examples of both kinds; a prompt goes to the side with the nearer examples.'),
    })
    .optional()
    .describe('Settings of the embedding classifier.'),
})

export const Slo = z.strictObject({
  ttft_p95_ms: count(3_600_000).describe(
    'Objective for the 95th percentile of the time to first token.',
  ),
  window_seconds: seconds(86_400)
    .default(300)
    .describe('Window over which the percentile is taken.'),
})

const RouteTrace = z.strictObject({
  keep_texts: z
    .boolean()
    .default(false)
    .describe(
      'Keep texts of prompts and passages in memory, for gw context inspect; never logged or exported.',
    ),
})

/** `deprecated` of a route or an alias: when its name ends, and the name that replaces it. */
const Deprecation = z.strictObject({
  since: time().describe('Day or time from which clients should no longer use the name.'),
  until: time()
    .optional()
    .describe('Day or time from which the name is no longer served; absent: it is served on.'),
  successor: name().optional().describe('Route or alias that clients should use instead.'),
  then: z
    .enum(['refuse', 'redirect'])
    .default('refuse')
    .describe(
      'After until. refuse: 404 that names the successor; redirect: the successor serves the request.',
    ),
})

const Shadow = z.strictObject({
  upstream: name().describe('Upstream that gets the copies; not a member of the route.'),
  percent: z.number().min(0.01).max(100).default(10).describe('Share of requests that are copied.'),
  tenant: name().describe(
    'Tenant that the copies are charged to, under its own limits and budget; not the tenant of a key.',
  ),
  keep_texts: z
    .boolean()
    .default(false)
    .describe('Keep both answers of the last differences in memory; never logged or exported.'),
})

const points = () =>
  z
    .string()
    .max(16)
    .regex(/^[+]?[0-9]{1,4}([.][0-9]{1,3})? ?%$/, 'must be a percentage such as "+5 %"')

/** Margins by which the new upstream may be worse. */
const BackOn = z.strictObject({
  errors: points()
    .default('+1 %')
    .describe('Failed requests in percentage points more than the route without it.'),
  ttft_p95: points()
    .optional()
    .describe('95th percentile of the time to first token of streams, relative.'),
  cost: points().optional().describe('Cost of a request, relative.'),
  finish_length: points()
    .optional()
    .describe('Answers that end at a limit of tokens, in percentage points.'),
})

const Rollout = z.strictObject({
  to: name().describe('The new upstream; not yet a member of the route.'),
  steps: z
    .array(z.number().min(0.01).max(100))
    .min(1)
    .max(20)
    .default([1, 5, 25, 50, 100])
    .describe('Shares of the requests that the new upstream gets, in percent, each larger.'),
  every: z
    .string()
    .max(16)
    .regex(/^[1-9][0-9]{0,5}(s|m|h|d)$/, 'must be a time such as 90s, 10m or 1h')
    .default('10m')
    .describe('Least time of a step.'),
  requests: count(1_000_000)
    .default(100)
    .describe('Least finished requests at the new upstream before the next step.'),
  sticky: z
    .enum(['session', 'tenant'])
    .default('session')
    .describe(
      'The part of the traffic that stays on one side. session: the session, the conversation or the end user of a request; ' +
        'tenant: its tenant.',
    ),
  back_on: BackOn.prefault({}).describe('When all requests go back to the route without it.'),
})

export const Route = z.strictObject({
  name: name().describe('The value clients send in `model`.'),
  strategy: z
    .enum(STRATEGY_NAMES)
    .describe('How an upstream is chosen; listing order has no meaning.'),
  upstreams: z
    .array(RouteUpstream)
    .max(64)
    .default([])
    .describe('Upstream names, or {name, weight} for weighted. {route: NAME} is another route.'),
  primary: name().optional().describe('Upstream for single and primary_with_fallback.'),
  fallback: z
    .array(member())
    .max(16)
    .default([])
    .describe(
      'Upstreams tried in order after those of the strategy, with any strategy. {route: NAME} is another route.',
    ),
  fairness: Fairness.optional().describe(
    'The fairness of each upstream of this route that sets none itself. An upstream has one queue for all its routes.',
  ),
  overflow: Overflow.optional().describe(
    'Reasons that spill to the fallbacks; absent: all but on_slo_breach.',
  ),
  retry: Retry.optional().describe('How failed attempts are repeated.'),
  timeout_seconds: seconds()
    .optional()
    .describe('Most seconds that a request on this route may take.'),
  max_tokens_default: count(10_000_000)
    .optional()
    .describe(
      'Limit sent to the upstream if the client sets none and a budget applies; absent: none is sent.',
    ),
  on_unsupported: z
    .enum(['refuse', 'drop'])
    .default('refuse')
    .describe(
      'How to treat parameters that an upstream does not support. refuse: try another upstream, else 400; drop: leave them out.',
    ),
  cache: z
    .enum(['auto', 'none'])
    .optional()
    .describe(
      'auto: put cache marks into requests of clients that set none, at upstreams whose API has them. none: add none. ' +
        'Default: as each upstream says.',
    ),
  semantic: Semantic.optional().describe('Settings of the semantic strategy.'),
  retrieval: z
    .array(name())
    .max(16)
    .default([])
    .describe('Retrieval sections applied to the prompt.'),
  guardrails: z
    .array(name())
    .max(16)
    .default([])
    .describe('Guardrails applied to the request and the answer.'),
  slo: Slo.optional().describe("This route's objective; wins over the gateway's."),
  trace: RouteTrace.optional().describe('Decision traces of this route.'),
  verify: z
    .boolean()
    .default(false)
    .describe(
      'Send a request of one token through this route after each change and each minute; gw status and the condition ' +
        'Verified show whether it is answered. No tenant is charged. Each probe wakes a model that has stopped.',
    ),
  deprecated: Deprecation.optional().describe(
    'When this name ends. Answers, the list of models and the log say so.',
  ),
  shadow: Shadow.optional().describe('Copies of requests for another upstream, behind the answer.'),
  rollout: Rollout.optional().describe(
    'A new upstream that gets a growing share of requests, and none if it is worse.',
  ),
})

const Alias = z.string().min(1).max(253)

/** In a file the value may also be `{route, deprecated}`. */
export const Aliases = z.record(Alias, name())

export const DeprecatedAliases = z.record(Alias, Deprecation)
