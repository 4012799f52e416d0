/**
 * TenantPolicies: which count, how ceilings limit them, and that a broken one affects only itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import { NOT_GRANTED, type PolicyVerdict } from '../../operator/compile/policy-verdict.ts'
import { withPolicies } from '../../operator/compile/with-policies.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

const CEILING = { requests_per_minute: 300, tokens_per_day: 1000, usd_per_month: 50 }
const grants = (ceiling?: Fields, more: readonly Fields[] = []) => ({
  tenants: {
    from: [{ namespaces: ['team-a'], tenants: ['research'], ...(ceiling && { ceiling }) }, ...more],
  },
})

function aPolicy(name: string, spec: Fields = {}, more: Fields = {}): KubeObject {
  const { status, ...metadata } = more
  return {
    metadata: {
      name,
      namespace: 'team-a',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { gateway: 'ai/production', tenant: 'research', ...spec },
    ...(status !== undefined && { status }),
  }
}

const PRICED = { pricing: { models: [{ model: 'm', input: 1, output: 1 }] } }

function compiled(gateway: KubeObject, ...policies: readonly KubeObject[]) {
  const base = compile({ gateway, keys: [], now: 0 })
  assert.ok(base.configuration)
  const { compiled, policies: verdicts } = withPolicies(base, gateway, policies)
  const { gw } = compiled.configuration?.payload ?? assert.fail()
  const entries = (...path: string[]) =>
    listBelow(gw, ...path) as readonly Record<string, string | number>[]
  const [limits, budgets] = [entries('rate_limits', 'tenants'), entries('budgets')]
  return { limits, budgets, verdicts }
}

const verdictOn = (verdicts: ReadonlyMap<string, PolicyVerdict>, name = 'a') =>
  verdicts.get(`team-a/${name}`) ?? assert.fail()

const LIMITS = { requests_per_minute: 100, concurrent_requests: 4 }

test('limits and a budget below the ceiling become entries of the tenant', () => {
  const spec = { limits: LIMITS, budget: { tokens_per_day: 500, usd_per_month: 50 } }
  const gateway = aGateway({ gw: PRICED, spec: grants(CEILING) })
  const { limits, budgets, verdicts } = compiled(gateway, aPolicy('a', spec))
  assert.deepEqual(limits, [{ tenant: 'research', ...LIMITS, burst: 25 }])
  assert.deepEqual(budgets, [{ tenant: 'research', tokens_per_day: 500, spend_per_month_usd: 50 }])
  assert.equal(verdictOn(verdicts).reason, 'Accepted')
})

test('an amount above the ceiling counts as the ceiling, and the condition contains the number', () => {
  const spec = { limits: { requests_per_minute: 600 }, budget: { tokens_per_day: 2000 } }
  const gateway = aGateway({ gw: PRICED, spec: grants(CEILING) })
  const { limits, budgets, verdicts } = compiled(gateway, aPolicy('a', spec))
  assert.equal(limits[0]?.requests_per_minute, 300)
  assert.deepEqual(budgets, [{ tenant: 'research', tokens_per_day: 1000, spend_per_month_usd: 50 }])
  const { reason, message, effective } = verdictOn(verdicts)
  assert.equal(reason, 'Bounded')
  assert.match(message, /requests_per_minute 600 is above the ceiling and is replaced by 300/)
  assert.match(message, /usd_per_month is 50, the ceiling/)
  assert.deepEqual(effective?.boundBy, {
    requests_per_minute: 'ceiling',
    tokens_per_day: 'ceiling',
    usd_per_month: 'ceiling',
  })
})

test('of several ceilings the lowest one limits each amount', () => {
  const wide = { namespaces: ['*'], tenants: ['*'], ceiling: { requests_per_minute: 50 } }
  const gateway = aGateway({ gw: PRICED, spec: grants(CEILING, [wide]) })
  const { limits, budgets } = compiled(gateway, aPolicy('a', { limits: LIMITS }))
  assert.equal(limits[0]?.requests_per_minute, 50)
  assert.equal(budgets[0]?.tokens_per_day, 1000)
})

test("the gateway's entry for the tenant overrides policy and ceiling", () => {
  const own = { tenant: 'research', requests_per_minute: 900 }
  const gateway = aGateway({
    gw: { ...PRICED, rate_limits: { tenants: [own] } },
    spec: grants(CEILING),
  })
  const { limits, verdicts } = compiled(gateway, aPolicy('a', { limits: LIMITS }))
  assert.deepEqual(limits, [own])
  const { effective, message } = verdictOn(verdicts)
  assert.equal(effective?.requests_per_minute, 900)
  assert.equal(effective?.boundBy?.requests_per_minute, 'gateway')
  assert.match(message, /own entry for the tenant/)
})

test('a tenant or namespace without a grant gets the same message as an unknown gateway', () => {
  const rows = [
    [aGateway({ spec: grants() }), aPolicy('a', { tenant: 'other' })],
    [aGateway(), aPolicy('a')],
    [aGateway({ spec: grants() }), aPolicy('a', {}, { namespace: 'ai' })],
  ] as const
  for (const [gateway, policy] of rows) {
    const { limits, verdicts } = compiled(gateway, policy)
    assert.deepEqual([...verdicts.values()], [NOT_GRANTED])
    assert.deepEqual(limits, [])
  }
})

test('of two policies for a tenant the older one counts', () => {
  const younger = aPolicy('a', { limits: LIMITS }, { creationTimestamp: '2026-02-01T00:00:00Z' })
  const older = aPolicy('b', { limits: { requests_per_minute: 7 } })
  const { limits, verdicts } = compiled(aGateway({ spec: grants() }), younger, older)
  assert.equal(limits[0]?.requests_per_minute, 7)
  assert.equal(verdictOn(verdicts, 'b').reason, 'Accepted')
  const { accepted, reason, message } = verdictOn(verdicts, 'a')
  assert.deepEqual([accepted, reason], [false, 'Conflicted'])
  assert.match(message, /TenantPolicy b is older/)
})

test('a policy that makes the configuration invalid affects only itself, and keeps its earlier limits', () => {
  const budget = { tokens_per_day: 9, on_exceeded: 'downgrade', downgrade_route: 'gone' }
  const status = { effective: { requests_per_minute: 20, tokens_per_day: 8 } }
  const gateway = aGateway({ spec: grants(undefined, [{ namespaces: ['*'], tenants: ['*'] }]) })
  const bad = aPolicy('a', { limits: { requests_per_minute: 10 }, budget })
  const good = aPolicy('b', { tenant: 'good', limits: LIMITS })
  const without = compiled(gateway, bad, good)
  const [limited, ...others] = without.limits
  assert.equal(limited?.requests_per_minute, 10)
  assert.deepEqual(others, [{ tenant: 'good', ...LIMITS, burst: 25 }])
  assert.deepEqual(without.budgets, [{ tenant: 'research', tokens_per_day: 9 }])
  assert.equal(verdictOn(without.verdicts).reason, 'InvalidSpec')
  assert.match(verdictOn(without.verdicts).message, /downgrade_route.*gone/)
  const before = compiled(gateway, { ...bad, status }, good)
  assert.deepEqual(before.budgets, [{ tenant: 'research', tokens_per_day: 8 }])
  assert.match(verdictOn(before.verdicts).message, /previous version of the policy stays active/)
})

test('money without prices is left out, and only a policy that asked for it reports this', () => {
  const gateway = aGateway({ spec: grants(CEILING) })
  const silent = compiled(gateway, aPolicy('a', { limits: LIMITS }))
  assert.deepEqual(silent.budgets, [{ tenant: 'research', tokens_per_day: 1000 }])
  assert.equal(verdictOn(silent.verdicts).accepted, true)
  const asking = compiled(gateway, aPolicy('a', { limits: LIMITS, budget: { usd_per_month: 5 } }))
  assert.deepEqual(asking.budgets, silent.budgets)
  assert.match(verdictOn(asking.verdicts).message, /^spec\.budget\.usd_per_month: .*no price/)
})

test('the operator validates a spec that an older API server accepted', () => {
  const { verdicts } = compiled(
    aGateway({ spec: grants() }),
    aPolicy('a', { limits: { requests_per_minute: -1 } }),
  )
  assert.match(verdictOn(verdicts).message, /^spec\.limits\.requests_per_minute/)
})

const EACH = { tenant: '*', tokens_per_day: 800, alert_thresholds: [0.5] }

test('the budget of each tenant limits a policy without a ceiling, and supplies its missing amounts', () => {
  const gw = { ...PRICED, budgets: [EACH] }
  const asked = aPolicy('a', { budget: { tokens_per_day: 900 } })
  const bounded = compiled(aGateway({ gw, spec: grants() }), asked)
  assert.deepEqual(bounded.budgets, [EACH])
  const { reason, effective, message } = verdictOn(bounded.verdicts)
  assert.equal(reason, 'Bounded')
  assert.equal(effective?.tokens_per_day, 800)
  assert.match(message, /900 is above the ceiling and is replaced by 800/)
  const raised = compiled(aGateway({ gw, spec: grants(CEILING) }), asked)
  assert.deepEqual(raised.budgets.slice(1), [
    { tenant: 'research', tokens_per_day: 900, spend_per_month_usd: 50, alert_thresholds: [0.5] },
  ])
})

test('a policy with money only keeps the token limit of the budget of each tenant', () => {
  const gateway = aGateway({ gw: { ...PRICED, budgets: [EACH] }, spec: grants() })
  const { budgets } = compiled(gateway, aPolicy('a', { budget: { usd_per_month: 10 } }))
  assert.deepEqual(budgets.slice(1), [
    { tenant: 'research', tokens_per_day: 800, spend_per_month_usd: 10, alert_thresholds: [0.5] },
  ])
})

test('budgets of groups and keys apply in addition to the policy', () => {
  const others = [
    { tenants: ['research', 'dev'], tokens_per_day: 5 },
    { key: 'k', tokens_per_day: 3 },
  ]
  const gateway = aGateway({ gw: { ...PRICED, budgets: others }, spec: grants() })
  const { budgets, verdicts } = compiled(gateway, aPolicy('a', { budget: { tokens_per_day: 900 } }))
  assert.deepEqual(budgets, [...others, { tenant: 'research', tokens_per_day: 900 }])
  assert.equal(verdictOn(verdicts).reason, 'Accepted')
})
