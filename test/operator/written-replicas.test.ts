/**
 * A number of replicas together with autoscaling causes a warning if a person or a program wrote
 * it, not if it is the default of the resource type.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicasHaveEffect } from '../../operator/checks/scale.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { trimOf } from '../../operator/kube/watch/trim.ts'

const NUMBER = { 'f:spec': { 'f:replicas': {} } }
const AUTOSCALED = { autoscaling: { maxReplicas: 5 }, replicas: 1 }

/** The operator's warnings for the object as its watch has it. */
function warnings(spec: object, metadata: object = {}): number {
  const stored = { metadata: { name: 'production', namespace: 'ai', ...metadata }, spec }
  const gateway: KubeObject = trimOf(RESOURCES.gatewayConfigs)(stored)
  // The check uses the resource alone.
  return replicasHaveEffect({ gateway } as Parameters<typeof replicasHaveEffect>[0]).length
}

const applied = (document: unknown) => ({
  annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(document) },
})
const owned = (fields: object) => ({ managedFields: [{ manager: 'a', ...fields }] })

test('the default of the type is not a written number', () => {
  assert.equal(warnings(AUTOSCALED), 0)
  const others = { operation: 'Apply', fieldsV1: { 'f:spec': { 'f:autoscaling': {} } } }
  assert.equal(warnings(AUTOSCALED, owned(others)), 0)
  assert.equal(warnings(AUTOSCALED, owned({ operation: 'Update', fieldsV1: NUMBER })), 0)
  assert.equal(warnings(AUTOSCALED, applied({ spec: { autoscaling: {} } })), 0)
  const unreadable = { 'kubectl.kubernetes.io/last-applied-configuration': '{' }
  assert.equal(warnings(AUTOSCALED, { annotations: unreadable }), 0)
})

test('a number written by a file, a manager or a scaler of the gateway causes a warning', () => {
  assert.equal(warnings({ ...AUTOSCALED, replicas: 3 }), 1)
  assert.equal(warnings(AUTOSCALED, owned({ operation: 'Apply', fieldsV1: NUMBER })), 1)
  const scaled = { operation: 'Update', subresource: 'scale', fieldsV1: NUMBER }
  assert.equal(warnings(AUTOSCALED, owned(scaled)), 1)
  assert.equal(warnings(AUTOSCALED, applied({ spec: { replicas: 1 } })), 1)
})

test('without autoscaling the number stays', () => {
  const stored = { metadata: { name: 'production' }, spec: { replicas: 1 } }
  assert.deepEqual(trimOf(RESOURCES.gatewayConfigs)(stored).spec, { replicas: 1 })
})
