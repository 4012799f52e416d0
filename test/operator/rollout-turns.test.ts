/** Which gateway rolls first when a new operator release changes the pods of all gateways. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { ApiClient } from '../../operator/kube/api.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import { type KubeObject, RESOURCES, type Resource } from '../../operator/kube/objects.ts'
import { ObjectStore } from '../../operator/kube/watch/store.ts'
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

function settingsOf(version: string, of = gateway) {
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const { needs } = configuration
  const spec = WorkloadSpec.parse(gateway.spec ?? {})
  const drainSeconds = drainSecondsOf(spec, needs.requestTimeoutSeconds)
  const release = { image: `gw:${version}`, version, operatorNamespace: 'gw-system' }
  return { gateway: of, spec, needs, drainSeconds, release }
}

/** As the former release created it; no pod is missing. */
function liveOf(of: KubeObject): KubeObject {
  const deployment = desiredDeployment(settingsOf('1', of), undefined)
  return { ...deployment, spec: { ...Object(deployment.spec), replicas: 0 } }
}

type Apply = (resource: Resource, object: KubeObject) => Promise<KubeObject>

const applied: Apply = async (_, object) => object

/** A cluster with these Deployments, in which no other object exists yet. */
function aReconciler(deployments: readonly KubeObject[], apply = applied) {
  const kinds = Object.keys(RESOURCES).map((kind) => [kind, new ObjectStore()] as const)
  const stores = Object.fromEntries(kinds)
  stores.deployments?.replace(deployments)
  const api = { get: async () => undefined, apply }
  return new WorkloadReconciler({
    // Only these members are called.
    api: api as unknown as ApiClient,
    world: { stores } as unknown as World,
    rolloutsMax: 1,
  })
}

const held = {
  metadata: { name: 'held', namespace: 'other', generation: 2 },
  spec: { replicas: 2 },
  status: { observedGeneration: 2, replicas: 3, updatedReplicas: 1 },
}
const overdue = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }]
const stuck = { ...held, status: { ...held.status, conditions: overdue } }

test('a waiting gateway names the gateway that it waits for', async () => {
  const live = liveOf(gateway)
  const outcome = await aReconciler([live, held]).reconcile(settingsOf('2'), {})
  assert.equal(outcome.kind, 'waiting')
  assert.match('message' in outcome ? outcome.message : '', /1 are now, first other\/held\./)
})

test('a gateway that is first rolls', async () => {
  const live = liveOf(gateway)
  const outcome = await aReconciler([live]).reconcile(settingsOf('2'), {})
  assert.notEqual(outcome.kind, 'waiting')
})

test('a roll that Kubernetes has abandoned delays no other gateway', async () => {
  const live = liveOf(gateway)
  const outcome = await aReconciler([live, stuck]).reconcile(settingsOf('2'), {})
  assert.equal(outcome.kind, 'applied')
})

test('an abandoned roll counts again when its gateway is changed', async () => {
  const live = liveOf(gateway)
  const changed = { ...stuck, metadata: { ...stuck.metadata, generation: 3 } }
  const outcome = await aReconciler([live, changed]).reconcile(settingsOf('2'), {})
  assert.equal(outcome.kind, 'waiting')
})

test('others wait for a gateway while its Deployment is being written, but not after a refusal', async () => {
  const other: KubeObject = { ...gateway, metadata: { ...gateway.metadata, name: 'other' } }
  const lives = [gateway, other].map(liveOf)
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const reconciler = aReconciler(lives, async (resource, object) => {
    if (resource !== RESOURCES.deployments || object.metadata.name !== 'other') return object
    asked.resolve()
    await answer.promise
    throw new ApiError('a policy forbids it', { status: 403, reason: 'Forbidden' })
  })
  const refused = reconciler.reconcile(settingsOf('2', other), {})
  await asked.promise
  const first = await reconciler.reconcile(settingsOf('2'), {})
  assert.equal(first.kind, 'waiting')
  answer.resolve()
  await assert.rejects(refused, /a policy forbids it/)
  const second = await reconciler.reconcile(settingsOf('2'), {})
  assert.equal(second.kind, 'applied')
})
