/** Large configurations are judged apart, within a time, and the keys of no gateway wait for that. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compilations } from '../../operator/compile/compilations.ts'
import { type Judged, judgeGateway } from '../../operator/compile/compile.ts'
import { judgeApart, type Order } from '../../operator/compile/judge-apart.ts'
import { type KubeObject, keyOf } from '../../operator/kube/objects.ts'
import { ObjectStore } from '../../operator/kube/store.ts'
import type { World } from '../../operator/world.ts'
import { aGateway, aGatewayKey } from '../helpers/kubernetes/a-gateway.ts'

function large(generation = 1): KubeObject {
  const aliases = Object.fromEntries(
    Array.from({ length: 4000 }, (_, index) => [`alias-${index}-${'x'.repeat(20)}`, 'chat']),
  )
  return aGateway({ gw: { aliases }, metadata: { name: 'large', uid: 'uid-large', generation } })
}

/** Threads that answer when the test says so. */
function aWorld() {
  const gatewayKeys = new ObjectStore()
  const keysOf = gatewayKeys.indexBy((key) => [`ai/${(key.spec as { gateway: string }).gateway}`])
  // Only these members are read.
  const world = { stores: { gatewayKeys }, keysOf } as unknown as World
  const orders: { order: Order; answer(judged: Judged): void }[] = []
  const judged: string[] = []
  const compilations = new Compilations({
    world,
    wallClock: () => 0,
    onJudged: (gateway) => judged.push(gateway),
    judgeApart: (order) => new Promise((answer) => orders.push({ order, answer })),
  })
  return { compilations, gatewayKeys, orders, judged }
}

const turns = async () => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

test('while a large document is judged, its keys and another gateway go through', async () => {
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
  answer(judgeGateway(order.gateway, 0, () => true))
  await turns()
  assert.deepEqual(judged, ['ai/large'])
  const after = compilations.of(large(), undefined).compiled
  assert.equal(after.isPending, undefined)
  assert.ok(after.configuration)
})

test('an edit that comes while a thread is at work is judged after it, and nothing else is', async () => {
  const { compilations, orders, judged } = aWorld()
  for (const generation of [1, 2, 3]) compilations.of(large(generation), undefined)
  await turns()
  assert.equal(orders.length, 1)
  assert.equal(orders[0]?.order.gateway.metadata.generation, 3)
  orders[0]?.answer(judgeGateway(large(3), 0, () => true))
  await turns()
  assert.deepEqual(judged, ['ai/large'])
  assert.ok(compilations.of(large(3), undefined).compiled.configuration)
})

test('the thread says what the loop would', async () => {
  const gateway = large()
  const apart = await judgeApart({ gateway, now: 0, tenants: [] })
  assert.deepEqual(apart, structuredClone(judgeGateway(gateway, 0, () => false)))
  assert.equal(keyOf(gateway), 'ai/large')
})

test('a document that takes longer than its time is given up with a reason', async () => {
  const { configuration, problems } = await judgeApart({ gateway: large(), now: 0, tenants: [] }, 1)
  assert.equal(configuration, undefined)
  assert.equal(problems[0]?.code, 'COMPILATION_TIMED_OUT')
  assert.match(problems[0]?.message ?? '', /takes longer than 0\.001 s to judge/)
})
