/** The JSON of commands whose output the tool itself creates. */
import { z } from 'zod'
import { TenantShare } from '../printing/tables/upstreams-text.ts'

export const Problem = z.looseObject({
  severity: z.enum(['error', 'warning']),
  file: z.string(),
  path: z.string(),
  line: z.number(),
  column: z.number(),
  message: z.string(),
  fix: z.string(),
  code: z.string().optional(),
})

const Difference = z.looseObject({
  path: z.string(),
  old: z.unknown().optional(),
  new: z.unknown().optional(),
  hidden: z.boolean().optional().describe('a credential differs, and is not shown'),
  reloadable: z.boolean().describe('whether `apply --reload` accepts it'),
})

export const Validated = z.looseObject({
  ok: z.boolean(),
  file: z.string(),
  routes: z.number().optional(),
  upstreams: z.number().optional(),
  keys: z.number().optional(),
  errors: z.number(),
  warnings: z.number(),
  problems: z.array(Problem),
  explanation: z.string().optional().describe('with `--explain`'),
})

export const Configuration = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  gw: z.looseObject({}).describe('as in a file, with all defaults; credentials are hidden'),
})

export const Differences = z.looseObject({ differences: z.array(Difference) })

export const AppliedHere = z.looseObject({
  result: z.enum(['applied', 'refused']),
  refusal: z.string().optional(),
  differences: z.array(Difference),
  problems: z.array(z.string()),
  lasts: z.enum(['for good', 'until the next start']).optional(),
  file: z.string().optional().describe('the start file of the gateway'),
})

export const AppliedInCluster = z.looseObject({
  name: z.string(),
  namespace: z.string(),
  generation: z.number(),
  result: z.enum(['created', 'configured', 'unchanged']),
  rolls: z.boolean().describe('whether the change replaces pods'),
  differences: z.array(Difference),
  programmed: z.boolean().optional().describe('absent with `--wait=false`'),
  why: z.string().optional().describe('why it is not programmed'),
  activeHash: z.string().optional(),
  pods: z
    .array(z.looseObject({ name: z.string() }))
    .optional()
    .describe('as in `gw status`'),
})

export const Manifests = z.looseObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('List'),
  items: z.array(z.looseObject({ apiVersion: z.string(), kind: z.string() })),
})

export const GatewayList = z.looseObject({
  gateways: z.array(
    z.looseObject({
      namespace: z.string(),
      name: z.string(),
      ready: z.boolean(),
      reason: z.string(),
      degraded: z.string(),
      replicas: z.number(),
      ready_replicas: z.number(),
      generation: z.number(),
    }),
  ),
})

export const Waited = z.looseObject({
  gateway: z.string(),
  condition: z.string(),
  met: z.literal(true),
})

const Rates = {
  requests_per_second: z.number(),
  errors_per_second: z.number(),
  tokens_per_second: z.number(),
}

export const Busy = z.looseObject({
  gateways: z.number().describe('that answer'),
  asked: z.number(),
  routes: z.array(
    z.looseObject({
      route: z.string(),
      ...Rates,
      in_flight: z.number(),
      ttft_p95_seconds: z.number().optional(),
    }),
  ),
  tenants: z.array(z.looseObject({ tenant: z.string(), ...Rates })),
  shares: z
    .array(z.looseObject({ upstream: z.string(), ...TenantShare.shape }))
    .describe('at upstreams with fairness'),
})

export const LogLine = z.looseObject({
  pod: z.string().optional().describe('in a cluster'),
  time: z.string().optional(),
  level: z.string().optional(),
  event: z.string().optional().describe('`request` for a request'),
  message: z.string().optional().describe('of an event, and a line that is not JSON'),
  request_id: z.string().optional(),
  tenant: z.string().optional(),
  route: z.string().optional(),
  upstream: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
})

export const NewKey = z.looseObject({
  key: z.string().describe('shown only this once'),
  record: z.looseObject({ id: z.string(), tenant: z.string(), hash: z.string() }),
})

export const KeyInSecret = z.looseObject({
  id: z.string(),
  secret: z.string().describe('the Secret that holds the new key'),
  prefix: z.string().optional(),
  formerUntil: z.string().optional(),
})

export const KeyVerdict = z.looseObject({
  id: z.string(),
  scope: z.string(),
  route: z.string().optional(),
  status: z.number(),
  why: z.string(),
})

export const Authorized = z.looseObject({
  status: z.number(),
  expected: z.number(),
  ok: z.boolean(),
  why: z.string(),
  route: z.string().optional(),
})

export const LimitsHeld = z.looseObject({
  tenant: z.string(),
  route: z.string(),
  sent: z.number(),
  admitted: z.number(),
  rate_limited: z.number(),
  other_errors: z.number(),
  limit_per_minute: z.number().nullable(),
  burst: z.number().nullable(),
  burst_is: z.enum(['assumed', 'told']),
  most_that_the_limit_admits: z.number().nullable(),
  held: z.boolean(),
})

const PricedModel = {
  model: z.string(),
  upstreams: z.array(z.string()),
  entry: z.string().optional().describe('the name of the entry in the list'),
  differences: z
    .array(
      z.looseObject({
        field: z.string().describe('`input`, or `tiers[above 200000].input`'),
        configured: z.number().optional().describe('USD per million tokens, before the change'),
        listed: z.number(),
      }),
    )
    .optional(),
  source: z.string().optional().describe('that the configured price states'),
  as_of: z.string().optional().describe('the day of the configured price'),
  fault: z.string().optional().describe('why the entry cannot be used'),
}

export const ImportedPrices = z.looseObject({
  file: z.string(),
  source: z.string(),
  as_of: z.string(),
  models: z.array(
    z.looseObject({
      ...PricedModel,
      result: z.enum(['added', 'changed', 'same', 'not_listed', 'faulty']),
    }),
  ),
})

export const CheckedPrices = z.looseObject({
  ok: z.boolean(),
  file: z.string(),
  models: z.array(
    z.looseObject({
      ...PricedModel,
      status: z.enum(['same', 'differs', 'no_price', 'not_listed', 'faulty']),
    }),
  ),
})

export const SimulatorFacts = z.looseObject({
  base_url: z.string(),
  url: z.string(),
  model: z.string().nullable(),
})

export const Examined = z.looseObject({
  checks: z.array(
    z.looseObject({
      check: z.string(),
      subject: z.string(),
      result: z.enum(['ok', 'warning', 'failed']),
      detail: z.string(),
      fix: z.string().optional(),
    }),
  ),
})

export const Versions = z.looseObject({
  client: z.string(),
  gateways: z.array(z.looseObject({ name: z.string(), version: z.string() })),
})

/** What `gw upstream drain` and `resume` print. */
export const Drained = z.object({
  name: z.string(),
  drained_until: z.string().describe('the upstream gets no new requests until then'),
})
