/** Which pods belong to a gateway, and which of their sequences it accepts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PodOwners } from '../../operator/delivery/pod-owners.ts'
import { isBelievable, isCounted, nextSequence } from '../../operator/delivery/sequences.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

function owner(kind: string, name: string, uid: string, controller = true) {
  const apiVersion = kind === 'GatewayConfig' ? 'inference.gw/v1' : 'apps/v1'
  return { apiVersion, kind, name, uid, controller }
}

function anObject(name: string, uid: string, owners: readonly ReturnType<typeof owner>[]) {
  return { metadata: { name, namespace: 'ai', uid, ownerReferences: owners } }
}

const gateway = aGateway()
const deployment = anObject('production', 'd-1', [
  owner('GatewayConfig', 'production', gateway.metadata.uid ?? ''),
])
const SETS: Readonly<Record<string, KubeObject>> = {
  ours: anObject('ours', 's-1', [owner('Deployment', 'production', 'd-1')]),
  theirs: anObject('theirs', 's-2', [owner('Deployment', 'production', 'd-2')]),
  loose: anObject('loose', 's-3', [owner('Deployment', 'production', 'd-1', false)]),
}

function owners() {
  const asked: string[] = []
  const api = {
    async get(_resource: unknown, { name = '' }: { readonly name?: string }) {
      asked.push(name)
      return SETS[name]
    },
  }
  return { asked, owners: new PodOwners(api) }
}

test('only pods of a ReplicaSet of its Deployment belong to the gateway', async () => {
  const pods = [
    anObject('mine', 'p-1', [owner('ReplicaSet', 'ours', 's-1')]),
    anObject('labelled', 'p-2', []),
    anObject('of-another', 'p-3', [owner('ReplicaSet', 'theirs', 's-2')]),
    anObject('other-uid', 'p-4', [owner('ReplicaSet', 'ours', 's-9')]),
    anObject('no-controller', 'p-5', [owner('ReplicaSet', 'ours', 's-1', false)]),
    anObject('loose', 'p-6', [owner('ReplicaSet', 'loose', 's-3')]),
    anObject('no-set', 'p-7', [owner('ReplicaSet', 'gone', 's-8')]),
    anObject('of-a-job', 'p-8', [owner('Job', 'ours', 's-1')]),
  ]
  const { owners: known, asked } = owners()
  const names = async () =>
    (await known.ownedBy(gateway, deployment, pods)).map(({ metadata }) => metadata.name)
  assert.deepEqual(await names(), ['mine'])
  assert.equal(asked.filter((name) => name === 'ours').length, 2)
  asked.length = 0
  assert.deepEqual(await names(), ['mine'])
  assert.ok(!asked.includes('theirs'), 'known owners are not requested again')
})

test('without a Deployment of the gateway no pod belongs to it', async () => {
  const pods = [anObject('mine', 'p-1', [owner('ReplicaSet', 'ours', 's-1')])]
  assert.deepEqual(await owners().owners.ownedBy(gateway, undefined, pods), [])
  const foreign = anObject('production', 'd-1', [])
  assert.deepEqual(await owners().owners.ownedBy(gateway, foreign, pods), [])
})

test('the operator accepts a sequence that is at most a million higher', () => {
  assert.ok(isBelievable(1_000_007, 7))
  assert.ok(!isBelievable(1_000_008, 7))
  assert.ok(!isBelievable(Number.MAX_SAFE_INTEGER, 7))
  // The stored sequence is lost, and the pods have it.
  assert.ok(isBelievable(5_000_000, 1))
  assert.ok(!isBelievable(Number.MAX_SAFE_INTEGER, 1))
})

test('a stored sequence that no count can have reached is reset', () => {
  assert.equal(nextSequence(undefined, 0), 1)
  assert.equal(nextSequence(7, 9), 10)
  assert.equal(nextSequence(Number.MAX_SAFE_INTEGER, 4), 5)
  assert.ok(isCounted(1_000_000_000) && !isCounted(Number.MAX_SAFE_INTEGER))
})
