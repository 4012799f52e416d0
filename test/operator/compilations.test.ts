/** Large configurations are checked in a thread, within a time, and no gateway's keys wait for that. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compilations } from '../../operator/compile/compilations.ts'
import { judgeGateway } from '../../operator/compile/compile.ts'
import { IssuerKeys, type PublicKey } from '../../operator/compile/issuer-keys.ts'
import {
  type JudgedWhole,
  judgeApart,
  judgeWhole,
  type Order,
} from '../../operator/compile/judge-apart.ts'
import { type KubeObject, keyOf } from '../../operator/kube/objects.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
import type { World } from '../../operator/world.ts'
import { aGateway, aGatewayKey } from '../helpers/kubernetes/a-gateway.ts'
import { until } from '../helpers/until.ts'

function large(generation = 1): KubeObject {
  const aliases = Object.fromEntries(
    Array.from({ length: 4000 }, (_, index) => [`alias-${index}-${'x'.repeat(20)}`, 'chat']),
  )
  return aGateway({ gw: { aliases }, metadata: { name: 'large', uid: 'uid-large', generation } })
}

function aPolicy(budget: object = {}): KubeObject {
  return {
    metadata: { name: 'one', namespace: 'team-a', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { gateway: 'ai/large', tenant: 'research', budget: { tokens_per_day: 5, ...budget } },
  }
}

const NO_KEYS = { keys: undefined, version: '' }

/** Threads that answer on the test's command. */
function aWorld(
  issuerKeys: { keys: PublicKey[] | undefined; version: string } = NO_KEYS,
  policies: readonly KubeObject[] = [],
) {
  const gatewayKeys = new ObjectStore()
  const keysOf = gatewayKeys.indexBy((key) => [`ai/${(key.spec as { gateway: string }).gateway}`])
  // Only these members are read.
  const tenantPolicies = new ObjectStore()
  const policiesOf = tenantPolicies.indexBy(() => ['ai/large'])
  for (const policy of policies) tenantPolicies.put(policy)
  const stores = { gatewayKeys, tenantPolicies }
  const world = { stores, keysOf, policiesOf } as unknown as World
  const orders: { order: Order; answer(judged: JudgedWhole): void }[] = []
  const judged: string[] = []
  const compilations = new Compilations({
    world,
    issuerKeys,
    wallClock: () => 0,
    onJudged: (gateway) => judged.push(gateway),
    judgeApart: (order) => new Promise((answer) => orders.push({ order, answer })),
  })
  return { compilations, gatewayKeys, orders, judged }
}

const turns = async () => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

test('while a large document is checked, its keys and another gateway are sent', async () => {
  const { compilations, gatewayKeys, orders, judged } = aWorld()
  gatewayKeys.put(aGatewayKey('one', { gateway: 'large' }))
  const first = compilations.of(large(), undefined).compiled
  assert.equal(first.isPending, true)
  assert.equal(first.keys.length, 1)
  const other = compilations.of(aGateway(), undefined).compiled
  assert.ok(other.configuration)
  assert.equal(compilations.verdictOf('ai/large', 'ai/one')?.accepted, true)
  await turns()
  assert.equal(orders.length, 1)
  const { order, answer } = orders[0] ?? assert.fail('no thread was asked')
  answer(judgeWhole(order))
  await turns()
  assert.deepEqual(judged, ['ai/large'])
  const after = compilations.of(large(), undefined).compiled
  assert.equal(after.isPending, undefined)
  assert.ok(after.configuration)
})

test("an edit during a thread's work is checked after it, and nothing else is", async () => {
  const { compilations, orders, judged } = aWorld()
  for (const generation of [1, 2, 3]) compilations.of(large(generation), undefined)
  await turns()
  assert.equal(orders.length, 1)
  assert.equal(orders[0]?.order.gateway.metadata.generation, 3)
  const [asked] = orders
  asked?.answer(judgeWhole(asked.order))
  await turns()
  assert.deepEqual(judged, ['ai/large'])
  assert.ok(compilations.of(large(3), undefined).compiled.configuration)
})

test('the thread returns the same as the loop', async () => {
  const gateway = large()
  const { policies, ...apart } = await judgeApart({ gateway, now: 0, tenants: [], policies: [] })
  assert.deepEqual(apart, structuredClone(judgeGateway(gateway, 0, () => false)))
  assert.equal(policies.size, 0)
  assert.equal(keyOf(gateway), 'ai/large')
})

test('policies of a large document are checked in its thread, and no round of it in the loop', async () => {
  const from = [{ namespaces: ['team-a'], tenants: ['research'] }]
  const gateway = { ...large(), spec: { tenants: { from } } }
  const routed = aPolicy({ on_exceeded: 'downgrade', downgrade_route: 'nowhere' })
  const order = { gateway, now: 0, tenants: [], policies: [routed] }
  const { policies, configuration } = await judgeApart(order)
  assert.match(
    policies.get('team-a/one')?.message ?? '',
    /downgrade_route: unknown route "nowhere"/,
  )
  const budgets = [{ tenant: 'research', tokens_per_day: 5 }]
  assert.deepEqual(configuration?.payload.gw.budgets, budgets)
  const { compilations, orders } = aWorld(NO_KEYS, [routed])
  compilations.of(gateway, undefined)
  await turns()
  assert.deepEqual(orders[0]?.order.policies, [routed])
})

test('a document that takes too long is abandoned with a reason', async () => {
  const order = { gateway: large(), now: 0, tenants: [], policies: [aPolicy()] }
  const { configuration, problems, policies } = await judgeApart(order, 1)
  assert.equal(policies.get('team-a/one')?.reason, 'NotGranted')
  assert.equal(configuration, undefined)
  assert.equal(problems[0]?.code, 'COMPILATION_TIMED_OUT')
  assert.match(problems[0]?.message ?? '', /takes longer than 0\.001 s to check/)
})

const JWT = {
  name: 'cluster',
  issuer: 'https://kubernetes.default.svc',
  audiences: ['gw'],
  jwks: { kubernetes: true },
  tenant: { name: 'research' },
}

test('a configuration that trusts the cluster is sent with its keys, and again when they change', () => {
  const issuerKeys = { keys: undefined as PublicKey[] | undefined, version: '' }
  const { compilations } = aWorld(issuerKeys)
  const gateway = aGateway({ gw: { auth: { jwt: [JWT] } } })
  const sent = () => {
    const { compiled, isNew } = compilations.of(gateway, undefined)
    const { payload, hash } = compiled.configuration ?? assert.fail('it was refused')
    return { isNew, hash, jwks: (payload.gw.auth as { jwt: (typeof JWT)[] }).jwt[0]?.jwks }
  }
  assert.deepEqual(sent().jwks, { kubernetes: true })
  issuerKeys.keys = [{ kty: 'RSA', kid: 'one', n: 'AQ', e: 'AQAB' }]
  issuerKeys.version = 'one'
  const first = sent()
  assert.deepEqual(first.jwks, { keys: issuerKeys.keys })
  assert.equal(sent().isNew, false)
  issuerKeys.keys = [{ kty: 'RSA', kid: 'two', n: 'AQ', e: 'AQAB' }]
  issuerKeys.version = 'two'
  assert.notEqual(sent().hash, first.hash)
})

test('the keys of the issuer are read when they are needed, and a failure keeps them', async () => {
  const state = { reads: 0, changes: 0, errors: 0, set: {} as unknown }
  state.set = { keys: [{ kty: 'RSA', kid: 'one', n: 'AQ', e: 'AQAB', x5c: ['AQ'] }] }
  const keys = new IssuerKeys({
    async read() {
      state.reads++
      return state.set
    },
    onChange: () => void state.changes++,
    onError: () => void state.errors++,
    everyMs: 1,
  })
  await turns()
  assert.equal(state.reads, 0)
  assert.equal(keys.keys, undefined)
  await until('the keys are read again', () => state.reads > 2)
  assert.deepEqual(keys.keys, [{ kty: 'RSA', kid: 'one', n: 'AQ', e: 'AQAB' }])
  assert.equal(state.changes, 1)
  state.set = { keys: [] }
  await until('a failure is reported', () => state.errors > 0)
  assert.equal(JSON.stringify(keys.keys).includes('one'), true)
  keys.stop()
})
