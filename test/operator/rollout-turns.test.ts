/** Which gateway rolls when a new release of the operator changes the pods of all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { ApiClient } from '../../operator/kube/api.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { ObjectStore } from '../../operator/kube/store.ts'
import { WorkloadReconciler } from '../../operator/reconcilers/workload.ts'
import { desiredDeployment } from '../../operator/workload/made-with.ts'
import { drainSecondsOf } from '../../operator/workload/settings.ts'
import type { World } from '../../operator/world.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const fresh = aGateway()
const gateway: KubeObject = {
  ...fresh,
  status: { observedGeneration: fresh.metadata.generation },
}

function settingsOf(version: string) {
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const { needs } = configuration
  const spec = WorkloadSpec.parse(gateway.spec ?? {})
  const drainSeconds = drainSecondsOf(spec, needs.requestTimeoutSeconds)
  const release = { image: `gw:${version}`, version, operatorNamespace: 'gw-system' }
  return { gateway, spec, needs, drainSeconds, release }
}

/** A cluster with these Deployments, in which everything else is still to be made. */
function aReconciler(deployments: readonly KubeObject[]) {
  const kinds = Object.keys(RESOURCES).map((kind) => [kind, new ObjectStore()] as const)
  const stores = Object.fromEntries(kinds)
  stores.deployments?.replace(deployments)
  const api = { get: async () => undefined, apply: async (_: unknown, object: object) => object }
  return new WorkloadReconciler({
    // Only these members are called.
    api: api as unknown as ApiClient,
    world: { stores } as unknown as World,
    rolloutsMax: 1,
  })
}

const stuck = {
  metadata: { name: 'stuck', namespace: 'other', generation: 2 },
  spec: { replicas: 2 },
  status: { observedGeneration: 2, replicas: 3, updatedReplicas: 1 },
}

test('a gateway that waits for its turn names the gateway that it waits for', async () => {
  const live = desiredDeployment(settingsOf('1'), undefined)
  const outcome = await aReconciler([live, stuck]).reconcile(settingsOf('2'), {})
  assert.equal(outcome.kind, 'waiting')
  assert.match('message' in outcome ? outcome.message : '', /1 are now, first other\/stuck\./)
})

test('a gateway without anyone before it rolls', async () => {
  const live = desiredDeployment(settingsOf('1'), undefined)
  const outcome = await aReconciler([live]).reconcile(settingsOf('2'), {})
  assert.notEqual(outcome.kind, 'waiting')
})
