/**
 * The number of pods when an autoscaler takes over: another manager owns the field before the
 * operator releases it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { handOverReplicas } from '../../operator/reconcilers/replicas.ts'

type Api = Parameters<typeof handOverReplicas>[0]

const place = { name: 'production', namespace: 'ai' }

function entry(manager: string, operation: string, field: string): object {
  return { manager, operation, fieldsV1: { 'f:spec': { [field]: {} } } }
}

/** All writes while the Deployment has these managers. */
async function writtenFor(managedFields: readonly object[], spec: object): Promise<unknown[]> {
  const written: unknown[] = []
  const metadata = { ...place, uid: 'uid-1', managedFields }
  const api: Api = {
    get: async () => ({ metadata, spec: { replicas: 5 } }) as KubeObject,
    apply: async (resource, object, options) => {
      written.push({ kind: resource.kind, object, options })
      return object
    },
  }
  await handOverReplicas(api, { metadata: place }, { metadata: place, spec })
  return written
}

const ours = entry('gw-operator', 'Apply', 'f:replicas')

test('a number that only the operator owns is handed over unchanged, and never by force', async () => {
  const others = [ours, entry('kube-controller-manager', 'Update', 'f:progressDeadlineSeconds')]
  assert.deepEqual(await writtenFor(others, {}), [
    {
      kind: 'Deployment',
      object: { metadata: { ...place, uid: 'uid-1' }, spec: { replicas: 5 } },
      options: { manager: 'gw-operator-replicas', force: false },
    },
  ])
})

test('a number that the operator keeps writing, or that another writer owns, stays unchanged', async () => {
  assert.deepEqual(await writtenFor([ours], { replicas: 3 }), [])
  for (const [manager, operation] of [
    ['kube-controller-manager', 'Update'],
    ['gw-operator-replicas', 'Apply'],
  ] as const) {
    assert.deepEqual(await writtenFor([entry(manager, operation, 'f:replicas')], {}), [])
    assert.deepEqual(await writtenFor([ours, entry(manager, operation, 'f:replicas')], {}), [])
  }
})
