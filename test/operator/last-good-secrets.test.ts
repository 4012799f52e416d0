/** Secrets of the last good configuration: mounted only with the settings under which it was good. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { compile } from '../../operator/compile/compile.ts'
import { joinNeeds } from '../../operator/compile/needs.ts'
import { signConfiguration } from '../../operator/delivery/bundle.ts'
import type { ApiClient } from '../../operator/kube/api.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { ConfigReconciler } from '../../operator/reconcilers/config.ts'
import { desiredDeployment } from '../../operator/workload/made-with.ts'
import type { World } from '../../operator/world.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const keys = { privateKey, keyId: 'test', trusted: {} }
const release = { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' }

const naming = (spec: object = {}) =>
  aGateway({
    spec: { ...spec },
    gw: {
      upstreams: [{ name: 'u', provider: 'openai', model: 'm', api_key: '${secret:theirs/key}' }],
      routes: [{ name: 'chat', strategy: 'single', upstreams: ['u'] }],
    },
  })

/** A cluster of one ConfigMap. */
function aReconciler() {
  let stored: KubeObject | undefined
  let version = 0
  const write = async (_resource: unknown, object: KubeObject) => {
    version += 1
    stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    return stored
  }
  // Only these members are called.
  const api = { get: async () => stored, create: write, update: write } as unknown as ApiClient
  const world = { stores: { configMaps: { get: () => stored } } } as unknown as World
  return new ConfigReconciler({ api, world, signingKeys: () => keys })
}

function compiled(gateway: KubeObject) {
  return compile({ gateway, keys: [], now: 0 }).configuration ?? assert.fail('it is not valid')
}

async function afterGood(gateway: KubeObject) {
  const reconciler = aReconciler()
  const { uid = '', namespace = '', name } = gateway.metadata
  const facts = { gateway: { uid, namespace, name }, sequence: 1, generation: 1 }
  const configuration = signConfiguration(compiled(gateway).payload, facts, keys)
  await reconciler.keepLastKnownGood(gateway, configuration)
  return reconciler
}

function mountedBy(next: KubeObject, reconciler: ConfigReconciler, live?: KubeObject) {
  const needs = joinNeeds(compiled(next).needs, reconciler.needsOfLastKnownGood(next))
  const spec = WorkloadSpec.parse(next.spec ?? {})
  const deployment = desiredDeployment(
    { gateway: next, spec, needs, drainSeconds: 610, release },
    live,
  )
  return { deployment, isMounted: JSON.stringify(deployment.spec).includes('"theirs"') }
}

test('they stay while the pods do not change', async () => {
  const reconciler = await afterGood(naming())
  assert.ok(mountedBy(aGateway(), reconciler).isMounted)
  assert.ok(mountedBy(aGateway({ spec: { replicas: 5 } }), reconciler).isMounted)
})

test('they are removed with another image, environment, injection or egress', async () => {
  const reconciler = await afterGood(naming())
  const live = mountedBy(naming(), reconciler).deployment
  const specs = [
    { image: 'mine:1' },
    { env: [{ name: 'NODE_OPTIONS', value: '--import=data:text/javascript,0' }] },
    { envFrom: [{ configMapRef: { name: 'mine' } }] },
    { podAnnotations: { 'sidecar.example/inject': 'true' } },
    { podLabels: { 'sidecar.example/inject': 'true' } },
    { networkPolicy: { enabled: false } },
  ]
  for (const spec of specs) {
    const next = aGateway({ spec })
    assert.equal(mountedBy(next, reconciler).isMounted, false, JSON.stringify(spec))
    assert.equal(mountedBy(next, reconciler, live).isMounted, false, JSON.stringify(spec))
  }
})

test("they come back with the last good configuration's settings", async () => {
  const reconciler = await afterGood(naming({ image: 'ours:1' }))
  assert.equal(mountedBy(aGateway(), reconciler).isMounted, false)
  assert.ok(mountedBy(aGateway({ spec: { image: 'ours:1' } }), reconciler).isMounted)
})
