/** Labels of upstreams that TenantPolicies require: they narrow what the gateway allows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import { withPolicies } from '../../operator/compile/with-policies.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

const UPSTREAMS = [
  { name: 'frankfurt', labels: { region: 'eu', class: 'on-prem' } },
  { name: 'dublin', labels: { region: 'eu' } },
  { name: 'virginia', labels: { region: 'us' } },
].map((one) => ({ ...one, provider: 'vllm', endpoint: 'http://m:8000', model: 'm' }))

const ROUTES = [
  { name: 'chat', strategy: 'round_robin', upstreams: UPSTREAMS.map(({ name }) => ({ name })) },
]

function aPolicy(spec: Fields, status?: Fields): KubeObject {
  return {
    metadata: { name: 'a', namespace: 'team-a', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { gateway: 'ai/production', tenant: 'bank', ...spec },
    ...(status !== undefined && { status }),
  }
}

/** `tenants`: those of the gateway. */
function compiled(policy: KubeObject, tenants: readonly Fields[] = []) {
  const from = [{ namespaces: ['team-a'], tenants: ['*'] }]
  const gw = { upstreams: UPSTREAMS, routes: ROUTES, ...(tenants.length > 0 && { tenants }) }
  const gateway = aGateway({ gw, spec: { tenants: { from } } })
  const base = compile({ gateway, keys: [], now: 0 })
  assert.ok(base.configuration, JSON.stringify(base.problems))
  const { compiled: made, policies } = withPolicies(base, gateway, [policy])
  const { gw: sent } = made.configuration?.payload ?? assert.fail()
  const requires = Object.fromEntries(
    listBelow(sent, 'tenants').map((one) => {
      const { name, requires: labels } = one as Fields
      return [name, labels]
    }),
  )
  return { requires, verdict: policies.get('team-a/a') ?? assert.fail() }
}

test('labels of a policy are required of upstreams, and shown in its status', () => {
  const { requires, verdict } = compiled(aPolicy({ requires: { region: 'eu' } }))
  assert.deepEqual(requires, { bank: { region: 'eu' } })
  assert.deepEqual([verdict.accepted, verdict.reason], [true, 'Accepted'])
  assert.deepEqual(verdict.effective?.requires, { region: 'eu' })
})

test('labels of a policy come in addition to those of the gateway for the tenant, or for each', () => {
  const policy = aPolicy({ requires: { class: 'on-prem' } })
  for (const name of ['bank', '*']) {
    const { requires } = compiled(policy, [{ name, requires: { region: 'eu' } }])
    assert.deepEqual(requires.bank, { region: 'eu', class: 'on-prem' })
  }
  const other = { name: '*', requires: { region: 'eu' } }
  assert.deepEqual(compiled(policy, [other]).requires['*'], { region: 'eu' })
})

test('a policy cannot replace a label of the gateway, and its other labels are enforced', () => {
  const policy = aPolicy({ requires: { region: 'us', class: 'on-prem' } })
  for (const name of ['bank', '*']) {
    const { requires, verdict } = compiled(policy, [{ name, requires: { region: 'eu' } }])
    assert.deepEqual(requires.bank, { region: 'eu', class: 'on-prem' })
    assert.deepEqual([verdict.accepted, verdict.reason], [false, 'BeyondGrant'])
    const words = 'spec.requires.region: the gateway requires region=eu of this tenant'
    assert.ok(verdict.message.startsWith(words), verdict.message)
  }
})

test('a policy without labels leaves those of the gateway', () => {
  const policy = aPolicy({ limits: { requests_per_minute: 5 } })
  const { requires } = compiled(policy, [{ name: 'bank', requires: { region: 'eu' } }])
  assert.deepEqual(requires, { bank: { region: 'eu' } })
})

test('labels that no upstream has are enforced, and the policy says so', () => {
  const { requires, verdict } = compiled(aPolicy({ requires: { region: 'mars' } }))
  assert.deepEqual(requires, { bank: { region: 'mars' } })
  assert.deepEqual([verdict.accepted, verdict.reason], [true, 'Unplaced'])
  assert.equal(
    verdict.message,
    'spec.requires: no upstream has the labels region=mars. Requests of the tenant get 403 until an upstream has them.',
  )
})

test('a policy that an edit made invalid keeps its labels', () => {
  const before = { effective: { requires: { region: 'eu' } } }
  const { requires, verdict } = compiled(aPolicy({ requires: { region: '-' } }, before))
  assert.deepEqual(requires, { bank: { region: 'eu' } })
  assert.equal(verdict.reason, 'InvalidSpec')
})
