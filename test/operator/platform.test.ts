/** Objects of a gateway on clusters of several kinds: their differences, and what users may add. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { childrenOf } from '../../operator/workload/children.ts'
import type { WorkloadSettings } from '../../operator/workload/settings.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const OPENSHIFT = { assignsUsers: true, hasHttpRoutes: false }
const WITH_ROUTES = { assignsUsers: false, hasHttpRoutes: true }

function objectsOf(
  spec: object,
  platform?: WorkloadSettings['platform'],
  name = 'production',
): readonly KubeObject[] {
  const gateway = aGateway({ spec: { ...spec }, metadata: { name } })
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const release = { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' }
  const settings = {
    gateway,
    spec: WorkloadSpec.parse(spec),
    needs: configuration.needs,
    drainSeconds: 30,
    release,
    ...(platform && { platform }),
  }
  return childrenOf(settings, {}, undefined).flatMap(({ desired }) => desired ?? [])
}

const objectOf = (objects: readonly KubeObject[], kind: string, name = 'production') =>
  objects.find((one) => one.kind === kind && one.metadata.name === name)

const podOf = (objects: readonly KubeObject[]) =>
  valueBelow(objectOf(objects, 'Deployment'), 'spec', 'template', 'spec')

test('if the cluster assigns users, no object names a user or a group', () => {
  const named = /"(runAsUser|runAsGroup|fsGroup)":/
  assert.doesNotMatch(JSON.stringify(objectsOf({}, OPENSHIFT)), named)
  assert.equal(valueBelow(podOf(objectsOf({}, OPENSHIFT)), 'securityContext', 'runAsNonRoot'), true)
  assert.match(JSON.stringify(objectsOf({})), named)
})

test('annotations of the account reach the account, which still has no token', () => {
  const annotations = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/x' }
  const account = objectOf(objectsOf({ serviceAccount: { annotations } }), 'ServiceAccount')
  assert.deepEqual(account?.metadata.annotations, annotations)
  assert.equal(account?.automountServiceAccountToken, false)
})

test('volumes are mounted read-only, and never under the name of an existing volume', () => {
  const volumes = [
    { name: 'bundle', mountPath: '/mnt/ca', configMap: { name: 'ca' } },
    { name: 'identity', mountPath: '/mnt/id', csi: { driver: 'spiffe.csi.cert-manager.io' } },
  ]
  const pod = podOf(objectsOf({ volumes, priorityClassName: 'high' })) as {
    volumes: { name: string; csi?: { readOnly: boolean } }[]
    containers: { volumeMounts: { mountPath: string; readOnly?: boolean }[] }[]
    priorityClassName: string
  }
  assert.equal(pod.priorityClassName, 'high')
  assert.equal(new Set(pod.volumes.map(({ name }) => name)).size, pod.volumes.length)
  assert.equal(pod.volumes.find(({ csi }) => csi)?.csi?.readOnly, true)
  const mounts = pod.containers[0]?.volumeMounts ?? []
  for (const path of ['/mnt/ca', '/mnt/id']) {
    assert.equal(mounts.find(({ mountPath }) => mountPath === path)?.readOnly, true, path)
  }
})

test('no volume hides a folder of the pod, names a Secret, or has two sources', () => {
  const configMap = { name: 'ca' }
  const bad = [
    ...['/etc/gw', '/etc/gw/bundle', '/var/run/secrets/gw/x', '/tmp', '/usr/lib', '/', '/etc'],
    ...['/mnt/../etc/gw', 'mnt/ca', '/var/run', '/mnt//ca'],
  ].map((mountPath) => ({ name: 'a', mountPath, configMap }))
  const more = [
    { name: 'a', mountPath: '/mnt/a' },
    { name: 'a', mountPath: '/mnt/a', secret: { secretName: 's' } },
    { name: 'a', mountPath: '/mnt/a', configMap, csi: { driver: 'x' } },
    { name: 'a', mountPath: '/mnt/a', projected: { sources: [{ secret: { name: 's' } }] } },
    {
      name: 'a',
      mountPath: '/mnt/a',
      projected: { sources: [{ serviceAccountToken: { path: 't' } }] },
    },
    { name: 'a', mountPath: '/mnt/a', csi: { driver: 'x', nodePublishSecretRef: { name: 's' } } },
  ]
  for (const volume of [...bad, ...more]) {
    const { success } = WorkloadSpec.safeParse({ volumes: [volume] })
    assert.equal(success, false, JSON.stringify(volume))
  }
})

test('a Service inside the cluster has the metrics port; one that is reachable from outside has a second Service for it', () => {
  const portsOf = (spec: object, name = 'production') => {
    const ports = valueBelow(objectOf(objectsOf(spec), 'Service', name), 'spec', 'ports')
    return (Array.isArray(ports) ? ports : []).map(({ name, port }) => `${name} ${port}`)
  }
  assert.deepEqual(portsOf({}), ['http 80', 'metrics 9090'])
  assert.deepEqual(portsOf({ service: { port: 9090 } }), ['http 9090', 'metrics 9091'])
  assert.deepEqual(portsOf({}, 'production-metrics'), [])
  for (const type of ['LoadBalancer', 'NodePort']) {
    assert.deepEqual(portsOf({ service: { type } }), ['http 80'])
    assert.deepEqual(portsOf({ service: { type } }, 'production-metrics'), ['metrics 9090'])
  }
})

test('the operator creates no Service whose name the API server would refuse', () => {
  for (const length of [55, 56, 63]) {
    const objects = objectsOf({ service: { type: 'NodePort' } }, undefined, 'g'.repeat(length))
    const names = objects
      .filter(({ kind }) => kind === 'Service')
      .map(({ metadata }) => metadata.name)
    assert.equal(names.length, length === 55 ? 2 : 1)
    for (const name of names) assert.ok(name.length <= 63, name)
  }
})

test('pods are spread over nodes and zones without counting replaced ones, on Linux only', () => {
  const pod = podOf(objectsOf({ nodeSelector: { disk: 'fast' } }))
  assert.deepEqual(valueBelow(pod, 'nodeSelector'), { 'kubernetes.io/os': 'linux', disk: 'fast' })
  const spread = valueBelow(pod, 'topologySpreadConstraints')
  assert.ok(Array.isArray(spread))
  assert.deepEqual(
    spread.map(({ topologyKey, matchLabelKeys }) => [topologyKey, ...matchLabelKeys]),
    [
      ['kubernetes.io/hostname', 'pod-template-hash'],
      ['topology.kubernetes.io/zone', 'pod-template-hash'],
    ],
  )
})

test('an autoscaler counts CPU and open streams, and removes pods slowly', () => {
  const spec = { autoscaling: { maxReplicas: 9, targetStreamsPerPod: 200 } }
  const scaler = objectOf(objectsOf(spec), 'HorizontalPodAutoscaler')?.spec
  const metrics = valueBelow(scaler, 'metrics')
  assert.ok(Array.isArray(metrics))
  assert.deepEqual(
    metrics.map(({ type }) => type),
    ['Pods', 'Resource'],
  )
  assert.deepEqual(valueBelow(scaler, 'behavior', 'scaleDown'), {
    stabilizationWindowSeconds: 300,
    policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }],
  })
})

test('a route has no timeout, no retries and the port of the Service, if the cluster serves routes', () => {
  const spec = {
    service: { port: 8000 },
    route: { parentRefs: [{ name: 'public', namespace: 'edge' }], hostnames: ['models.test'] },
  }
  assert.equal(objectOf(objectsOf(spec), 'HTTPRoute'), undefined)
  assert.equal(objectOf(objectsOf({}, WITH_ROUTES), 'HTTPRoute'), undefined)
  const route = objectOf(objectsOf(spec, WITH_ROUTES), 'HTTPRoute')
  const rules = valueBelow(route, 'spec', 'rules')
  assert.ok(Array.isArray(rules))
  const [rule] = rules
  assert.deepEqual(rule.timeouts, { request: '0s', backendRequest: '0s' })
  assert.deepEqual(rule.matches, [{ path: { type: 'PathPrefix', value: '/v1' } }])
  assert.equal(rule.backendRefs[0].port, 8000)
  assert.equal(rule.retry, undefined)
})
