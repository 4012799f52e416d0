import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLUSTER_NETWORK, targetsOf } from '../../operator/delivery/targets.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'

const { originOf } = CLUSTER_NETWORK

function aPod(status: object, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'one', namespace: 'ai', uid: 'u1', ...metadata },
    status: { phase: 'Running', podIP: '10.0.0.7', ...status },
  }
}

test('a pod gets documents at the push port of its address', () => {
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] }
  assert.deepEqual(targetsOf([aPod(ready), aPod({ podIP: 'fd00::7' })], originOf), [
    { uid: 'u1', name: 'one', origin: 'http://10.0.0.7:9092', ready: true },
    { uid: 'u1', name: 'one', origin: 'http://[fd00::7]:9092', ready: false },
  ])
})

test('a pod without an address, one that does not run and one that is deleted get none', () => {
  const deleted = { deletionTimestamp: '2027-01-01T00:00:00Z' }
  const pods = [aPod({ podIP: undefined }), aPod({ phase: 'Pending' }), aPod({}, deleted)]
  assert.deepEqual(targetsOf(pods, originOf), [])
})

test('no annotation of a pod changes where it gets documents', () => {
  const annotations = { 'inference.gw/push-address': 'evil.example:80' }
  const [target] = targetsOf([aPod({}, { annotations })], originOf)
  assert.equal(target?.origin, 'http://10.0.0.7:9092')
})
