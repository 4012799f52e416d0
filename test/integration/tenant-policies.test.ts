/**
 * A GatewayConfig and a TenantPolicy limit one tenant: the stricter one refuses first, and the
 * refusal names it.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { compile } from '../../operator/compile/compile.ts'
import { withPolicies } from '../../operator/compile/with-policies.ts'
import { anUpstream, startUpstream } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import {
  ANSWER_TOKENS,
  ANSWER_USD,
  assertLimited,
  assertSpent,
  keysOf,
  PRICES,
  startLimited,
} from './limits/limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

interface Row {
  readonly tenant: string
  /** In the GatewayConfig. */
  readonly ceiling?: Fields
  readonly entry?: Fields
  readonly budgets?: readonly Fields[]
  /** In the TenantPolicy. */
  readonly limits?: Fields
  readonly budget?: Fields
  readonly furtherLimits?: readonly Fields[]
  /** The number of requests served before the first refusal, and the facts of the refusal. */
  readonly served: number
  readonly reason: string
  readonly facts: Fields
}

const day = (answers: number) => answers * ANSWER_TOKENS
const [FEW, MANY] = [{ requests_per_minute: 8 }, { requests_per_minute: 4000 }]
/** A quarter of a minute's requests come at once. */
const BURST = 2
const RATE = {
  served: BURST,
  reason: 'rpm',
  facts: { limited_by: 'requests_per_minute', limit: 8 },
}
const TOKENS = { served: 1, reason: 'budget_tokens' }

const ROWS: readonly Row[] = [
  { tenant: 'ceiling-rate', ceiling: FEW, limits: MANY, ...RATE },
  { tenant: 'policy-rate', ceiling: MANY, limits: FEW, ...RATE },
  {
    tenant: 'entry-rate',
    entry: { ...FEW, burst: BURST },
    limits: MANY,
    budget: { tokens_per_day: day(9) },
    ...RATE,
  },
  {
    tenant: 'policy-tokens',
    entry: FEW,
    budget: { tokens_per_day: day(1) },
    ...TOKENS,
    facts: { limit: day(1), used: day(1), budget: undefined },
  },
  {
    tenant: 'group-tokens',
    budgets: [{ tenants: ['group-tokens', 'other'], name: 'all', tokens_per_day: day(1) }],
    budget: { tokens_per_day: day(5) },
    ...TOKENS,
    facts: { limit: day(1), budget: 'group', budget_name: 'all' },
  },
  {
    tenant: 'group-behind',
    budgets: [{ tenants: ['group-behind', 'other'], name: 'more', tokens_per_day: day(5) }],
    budget: { tokens_per_day: day(1) },
    ...TOKENS,
    facts: { limit: day(1), budget: undefined },
  },
  {
    tenant: 'money',
    ceiling: { tokens_per_day: day(5) },
    budget: { usd_per_month: ANSWER_USD },
    served: 1,
    reason: 'budget_spend',
    facts: { limit: ANSWER_USD, budget: undefined },
  },
  {
    tenant: 'further',
    ceiling: MANY,
    furtherLimits: [{ name: 'keys', for: { each: 'key' }, requests_per_minute: 8 }],
    served: BURST,
    reason: 'rpm',
    facts: { limit: 8, limit_name: 'further/keys', limit_holder: 'key "further"' },
  },
]

const upstream = await startUpstream()
const upstreams = [anUpstream({ name: 'up', endpoint: upstream.url })]
const gateway = await startLimited(
  { ...documentOf(ROWS), upstreams },
  keysOf(ROWS.map(({ tenant }) => tenant)),
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

/** As the operator sends it to the pods. */
function documentOf(rows: readonly Row[]): Fields {
  const from = rows.map(({ tenant, ceiling }) => ({
    namespaces: ['team-a'],
    tenants: [tenant],
    ...(ceiling && { ceiling }),
  }))
  const tenants = rows.flatMap(({ tenant, entry }) => (entry ? [{ tenant, ...entry }] : []))
  const resource = {
    metadata: { name: 'production', namespace: 'ai', generation: 1 },
    spec: { tenants: { from } },
    gw: {
      upstreams,
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
      rate_limits: { default: PLENTY, tenants },
      budgets: rows.flatMap(({ budgets = [] }) => budgets),
      pricing: PRICES,
    },
  }
  const policies = rows.map(({ tenant, limits, budget, furtherLimits }) => ({
    metadata: { name: tenant, namespace: 'team-a', generation: 1 },
    spec: {
      gateway: 'ai/production',
      tenant,
      ...(limits && { limits }),
      ...(budget && { budget }),
      ...(furtherLimits && { further_limits: furtherLimits }),
    },
  }))
  const compiled = compile({ gateway: resource, keys: [], now: 0 })
  const both = withPolicies(compiled, resource, policies)
  assert.ok([...both.policies.values()].every(({ accepted }) => accepted))
  return both.compiled.configuration?.payload.gw ?? assert.fail(JSON.stringify(compiled.problems))
}

for (const { tenant, served, reason, facts } of ROWS) {
  test(`the stricter of gateway and policy refuses first and is named: ${tenant}`, async () => {
    const front = gateway.as(tenant)
    for (let answers = 0; answers < served; answers++)
      assert.equal((await front.chat()).status, 200)
    const refused = await front.chat()
    const error = reason === 'rpm' ? assertLimited(refused, reason) : assertSpent(refused, reason)
    const said = Object.fromEntries(Object.keys(facts).map((name) => [name, error[name]]))
    assert.deepEqual(said, facts, refused.text)
  })
}
