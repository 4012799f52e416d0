/** The limits and budgets of one tenant as a team's own resource, below the ceilings of the gateway's owner. */
import { z } from 'zod'
import { FurtherLimit } from '../dataplane/schema/further-limits.ts'
import { Budget, RateLimits, Tenant } from '../dataplane/schema/limits.ts'
import { Condition } from './conditions.ts'
import { label, line, listMap, ruled } from './fields.ts'
import { GatewayKeySpec } from './gateway-key.ts'

export const POLICY_KIND = 'TenantPolicy'
export const POLICY_VERSION = 'v1alpha1'

const limits = RateLimits.shape.tenants.unwrap().element.shape
const budget = Budget.shape

const AMOUNTS = {
  requests_per_minute: limits.requests_per_minute,
  concurrent_requests: limits.concurrent_requests,
  tokens_per_minute: limits.tokens_per_minute,
  tokens_per_day: budget.tokens_per_day,
  usd_per_month: budget.spend_per_month_usd,
} as const

export type Amount = keyof typeof AMOUNTS
export const AMOUNT_NAMES = Object.keys(AMOUNTS) as readonly Amount[]

/** The largest amounts of a policy. */
const Ceiling = z.strictObject(AMOUNTS)

const EVERY = z.literal('*')

/** Entry of `spec.tenants.from` of a GatewayConfig. */
export const TenantGrant = z.strictObject({
  namespaces: z
    .array(z.union([EVERY, label()]))
    .min(1)
    .max(256)
    .describe('Namespaces whose TenantPolicies apply here; ["*"] means all.'),
  tenants: z
    .array(z.union([EVERY, line().min(1)]))
    .min(1)
    .max(1024)
    .describe('Tenants that these policies may name; ["*"] means all.'),
  ceiling: Ceiling.optional().describe(
    'The largest amounts that they may set; a policy with a larger or no amount gets this.',
  ),
})

const PolicyLimits = z.strictObject({
  requests_per_minute: AMOUNTS.requests_per_minute,
  concurrent_requests: AMOUNTS.concurrent_requests,
  tokens_per_minute: AMOUNTS.tokens_per_minute,
})

const PolicyBudget = ruled(
  z.strictObject({
    tokens_per_day: AMOUNTS.tokens_per_day,
    usd_per_month: AMOUNTS.usd_per_month,
    on_exceeded: budget.on_exceeded,
    downgrade_route: budget.downgrade_route,
  }),
  {
    rule: 'has(self.tokens_per_day) || has(self.usd_per_month)',
    message: 'a budget needs tokens_per_day or usd_per_month',
    holds: ({ tokens_per_day, usd_per_month }) =>
      tokens_per_day !== undefined || usd_per_month !== undefined,
  },
  {
    rule: "(has(self.on_exceeded) && self.on_exceeded == 'downgrade') == has(self.downgrade_route)",
    message: 'on_exceeded: downgrade and downgrade_route go together',
    holds: ({ on_exceeded, downgrade_route }) =>
      (on_exceeded === 'downgrade') === (downgrade_route !== undefined),
  },
)

/** More of one policy would not fit into the document with those of all others. */
const FURTHER_MAX = 8
const LABELS_MAX = 16

const PolicyLimit = FurtherLimit.extend({
  name: FurtherLimit.shape.name
    .max(63)
    .describe('Name; in refusals, alerts and metrics TENANT/NAME. The counter keeps it.'),
  for: FurtherLimit.shape.for
    .optional()
    .describe("The tenant's requests that it is for; all of them if absent."),
})

export type PolicyLimit = z.output<typeof PolicyLimit>

const requires = () => Tenant.shape.requires.optional().meta({ maxProperties: LABELS_MAX })

const furtherLimits = () => z.array(PolicyLimit).max(FURTHER_MAX).optional()

export const TenantPolicySpec = z.strictObject({
  gateway: GatewayKeySpec.shape.gateway.describe(
    'The GatewayConfig: its name, or NAMESPACE/NAME. Its spec.tenants.from must list this namespace and tenant.',
  ),
  tenant: GatewayKeySpec.shape.tenant,
  limits: PolicyLimits.optional().describe(
    "Limits of the tenant; the gateway's default for absent ones.",
  ),
  budget: PolicyBudget.optional().describe('Budget of the tenant; none if absent.'),
  further_limits: furtherLimits().describe(
    "Limits of parts of the tenant's requests, such as each key, each user or a model, as in gw.limits.",
  ),
  requires: requires().describe(
    'Labels that an upstream must have, in addition to those that the gateway requires. No other gets requests of the tenant.',
  ),
})

export type TenantPolicySpec = z.output<typeof TenantPolicySpec>

const boundBy = () => z.enum(['ceiling', 'gateway']).optional()

export const Effective = z.object({
  ...AMOUNTS,
  on_exceeded: z
    .enum(['reject', 'downgrade'])
    .optional()
    .describe('Value of on_exceeded in the policy.'),
  downgrade_route: budget.downgrade_route,
  further_limits: furtherLimits().describe('Those of spec.further_limits that are enforced.'),
  requires: requires().describe('Those of spec.requires that are enforced.'),
  boundBy: z
    .object({
      requests_per_minute: boundBy().describe('See boundBy.'),
      concurrent_requests: boundBy().describe('See boundBy.'),
      tokens_per_minute: boundBy().describe('See boundBy.'),
      tokens_per_day: boundBy().describe('See boundBy.'),
      usd_per_month: boundBy().describe('See boundBy.'),
    })
    .optional()
    .describe(
      'Amounts that do not come from the policy, because the ceiling is lower or the gateway has an entry for the tenant.',
    ),
})

export type Effective = z.output<typeof Effective>

export const TenantPolicyStatus = z.object({
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe('The generation that this status describes.'),
  conditions: z
    .array(Condition)
    .max(8)
    .default([])
    .meta(listMap('type'))
    .describe('Accepted: the gateway enforces it.'),
  effective: Effective.optional().describe('The amounts that the gateway enforces.'),
})

export type TenantPolicyStatus = z.output<typeof TenantPolicyStatus>
