/** TenantPolicies with a real API server: below the ceiling, in conflict, and without their grant. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TenantPolicyStatus } from '../../crds/tenant-policy.ts'
import { until } from '../helpers/until.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

const granting = (...tenants: string[]) => ({
  tenants: {
    from: [{ namespaces: ['team-a'], tenants, ceiling: { requests_per_minute: 300 } }],
  },
})

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(aGateway({ spec: granting('research') }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'], 90)
})

after(() => rig?.stop())

const aPolicy = (name: string, spec: object = {}) => ({
  apiVersion: 'inference.gw/v1alpha1',
  kind: 'TenantPolicy',
  metadata: { name, namespace: 'team-a' },
  spec: { gateway: 'ai/production', tenant: 'research', ...spec },
})

async function statusOf(name: string): Promise<TenantPolicyStatus> {
  const path = `/apis/inference.gw/v1alpha1/namespaces/team-a/tenantpolicies/${name}`
  // The API server validates it against the definition.
  const { status } = (await rig.cluster.read(path)) as { status?: TenantPolicyStatus }
  return status ?? { conditions: [] }
}

async function untilReason(name: string, reason: string): Promise<TenantPolicyStatus> {
  await until(
    `${name} is ${reason}`,
    async () => (await statusOf(name)).conditions[0]?.reason === reason,
    30,
  )
  return await statusOf(name)
}

/** The document as pods receive it at their start. */
async function documentText(): Promise<string> {
  const path = '/api/v1/namespaces/ai/configmaps/production-config'
  return JSON.stringify(await rig.cluster.read(path))
}

test("a policy above the ceiling is bounded and reported, and the pods' document contains it", async () => {
  await rig.apply(aPolicy('first', { limits: { requests_per_minute: 600 } }))
  const { effective, conditions } = await untilReason('first', 'Bounded')
  assert.equal(effective?.requests_per_minute, 300)
  assert.deepEqual(effective?.boundBy, { requests_per_minute: 'ceiling' })
  assert.match(conditions[0]?.message ?? '', /600 is above the ceiling and is replaced by 300/)
  assert.match(await documentText(), /research/)
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'], 60)
})

test('a second policy for the tenant is in conflict, and a policy without a grant does not learn why', async () => {
  await rig.apply(aPolicy('second', { limits: { requests_per_minute: 5 } }))
  await rig.apply(aPolicy('foreign', { tenant: 'other' }))
  await rig.apply(aPolicy('nowhere', { gateway: 'ai/unknown' }))
  await untilReason('second', 'Conflicted')
  const [foreign, nowhere] = [
    await untilReason('foreign', 'NotGranted'),
    await untilReason('nowhere', 'NotGranted'),
  ]
  assert.equal(foreign.conditions[0]?.message, nowhere.conditions[0]?.message)
  assert.doesNotMatch(await documentText(), /other/)
})

test('the API server refuses a policy that contradicts itself', async () => {
  const bad = aPolicy('bad', { budget: { tokens_per_day: 5, on_exceeded: 'downgrade' } })
  await assert.rejects(rig.apply(bad), /on_exceeded: downgrade and downgrade_route go together/)
})

test('a policy without its grant has no effect', async () => {
  await rig.apply(aGateway({ spec: granting('another') }))
  await untilReason('first', 'NotGranted')
  await until('the limits are out', async () => !(await documentText()).includes('research'), 5)
})
