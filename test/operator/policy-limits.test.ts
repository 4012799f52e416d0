/** Further limits of TenantPolicies: which of them the gateway enforces, and what the status says of the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import { faultsOfPolicy } from '../../operator/compile/tenant-policies.ts'
import { withPolicies } from '../../operator/compile/with-policies.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

const CEILING = { requests_per_minute: 300, tokens_per_day: 1000, usd_per_month: 50 }

function aPolicy(further_limits: readonly Fields[], more: Fields = {}): KubeObject {
  const { name = 'a', tenant = 'research', status } = more
  return {
    metadata: {
      name: String(name),
      namespace: 'team-a',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { gateway: 'ai/production', tenant, further_limits },
    ...(status !== undefined && { status }),
  }
}

function compiled(policies: readonly KubeObject[], ceiling: Fields = CEILING, gw: Fields = {}) {
  const from = [{ namespaces: ['team-a'], tenants: ['*'], ceiling }]
  const gateway = aGateway({ gw, spec: { tenants: { from } } })
  const base = compile({ gateway, keys: [], now: 0 })
  assert.ok(base.configuration)
  const { compiled, policies: verdicts } = withPolicies(base, gateway, policies)
  const { gw: sent } = compiled.configuration?.payload ?? assert.fail()
  const of = (name = 'a') => verdicts.get(`team-a/${name}`) ?? assert.fail()
  return { limits: listBelow(sent, 'limits'), of }
}

const EACH_KEY = { name: 'keys', for: { each: 'key' }, requests_per_minute: 60 }

test('further limits become limits of the tenant alone, beside those of the gateway', () => {
  const own = { name: 'own', for: { tenant: 'b' }, requests_per_minute: 1 }
  const all = { name: 'all', budget: { tokens: 7000, per: 'week' } }
  const { limits, of } = compiled([aPolicy([EACH_KEY, all])], CEILING, { limits: [own] })
  assert.deepEqual(limits, [
    own,
    {
      name: 'research/keys',
      for: { each: 'key', tenant: 'research' },
      requests_per_minute: 60,
    },
    {
      name: 'research/all',
      for: { tenant: 'research' },
      budget: { tokens: 7000, per: 'week', alerts: [], on_exceeded: 'reject' },
    },
  ])
  assert.deepEqual([of().accepted, of().effective?.further_limits?.length], [true, 2])
})

test('a limit for another tenant is refused and named, and the others are enforced', () => {
  for (const [selectors, field] of [
    [{ tenant: 'b' }, 'tenant'],
    [{ tenant: '*' }, 'tenant'],
    [{ tenants: ['research', 'b'] }, 'tenants'],
  ] as const) {
    const policy = aPolicy([EACH_KEY, { ...EACH_KEY, name: 'foreign', for: selectors }])
    const { limits, of } = compiled([policy])
    assert.equal(limits.length, 1)
    assert.deepEqual([of().accepted, of().reason], [false, 'BeyondGrant'])
    const message = `for.${field}: a policy limits only its own tenant "research"`
    assert.ok(of().message.startsWith(`spec.further_limits.1.${message}`), of().message)
    assert.match(of().message, /The rest of the policy is active\.$/)
    const [fault] = faultsOfPolicy(policy)
    assert.deepEqual(fault?.path.slice(0, 3), ['spec', 'further_limits', 1])
  }
})

test('a limit above the ceiling is refused, in each measure and each window', () => {
  const budget = (fields: Fields) => ({ budget: fields })
  const above: readonly [Fields, string][] = [
    [{ requests_per_minute: 301 }, 'requests_per_minute: 301 is above the 300'],
    [{ requests_per_minute: 1, burst: 301 }, 'burst: 301 is above the 300'],
    [budget({ tokens: 1001, per: 'hour' }), 'budget.tokens: 1001 is above the 1000'],
    [budget({ tokens: 1001, per: 'day' }), 'budget.tokens: 1001 is above the 1000'],
    [budget({ tokens: 7001, per: 'week' }), 'budget.tokens: 7001 is above the 7000'],
    [budget({ tokens: 30_001, per: '30d' }), 'budget.tokens: 30001 is above the 30000'],
    [budget({ usd: 51, per: 'month' }), 'budget.usd: 51 is above the 50'],
    [
      budget({ usd: 40, per: 'day', raise: { usd: 20, until: '2999-01-01T00:00:00Z' } }),
      'budget.raise.usd: 60 is above the 50',
    ],
  ]
  for (const [measures, words] of above) {
    const { limits, of } = compiled([aPolicy([{ name: 'x', ...measures }])])
    assert.deepEqual(limits, [])
    assert.equal(of().reason, 'BeyondGrant')
    assert.ok(of().message.includes(`${words} that the gateway grants`), of().message)
  }
  const { of } = compiled([aPolicy([{ name: 'x', ...budget({ tokens: 99_000, per: 'total' }) }])])
  assert.equal(of().accepted, true)
})

test('an edit that goes beyond the grant keeps the previous version of that limit', () => {
  const before = { ...EACH_KEY, requests_per_minute: 100 }
  const status = { effective: { further_limits: [before] } }
  const { limits, of } = compiled([
    aPolicy([{ ...EACH_KEY, requests_per_minute: 400 }], { status }),
  ])
  assert.deepEqual(
    limits.map((one) => (one as Fields).requests_per_minute),
    [100],
  )
  assert.match(of().message, /The previous version of the limit stays active\.$/)
})

test('a limit that contradicts the configuration is left out, and costs no other policy', () => {
  const wrong = { name: 'wrong', for: { route: 'nowhere' }, requests_per_minute: 1 }
  const { limits, of } = compiled([
    aPolicy([wrong, EACH_KEY]),
    aPolicy([EACH_KEY], { name: 'b', tenant: 'other' }),
  ])
  assert.deepEqual(
    limits.map((one) => (one as Fields).name),
    ['research/keys', 'other/keys'],
  )
  assert.deepEqual([of().accepted, of().reason], [false, 'InvalidSpec'])
  assert.match(
    of().message,
    /^spec\.further_limits\.wrong\.for\.route: unknown route "nowhere".+ The rest of the policy is active\.$/,
  )
  assert.equal(of('b').accepted, true)
})

test('two limits of one name are one too many', () => {
  const { limits, of } = compiled([aPolicy([EACH_KEY, EACH_KEY])])
  assert.equal(limits.length, 1)
  assert.match(of().message, /^spec\.further_limits\.1\.name: there is another limit "keys"/)
})

test('the policies of a gateway have at most a thousand further limits', () => {
  const eight = Array.from({ length: 8 }, (_, at) => ({ ...EACH_KEY, name: `l${at}` }))
  const policies = Array.from({ length: 126 }, (_, at) =>
    aPolicy(eight, { name: `p${String(at).padStart(3, '0')}`, tenant: `t${at}` }),
  )
  const { limits, of } = compiled(policies)
  assert.equal(limits.length, 1000)
  assert.match(of('p125').message, /the gateway accepts 1000 of all policies/)
})
