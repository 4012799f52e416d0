/** The objects of a gateway, and which changes roll its pods. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { childrenOf } from '../../operator/workload/children.ts'
import { covers } from '../../operator/workload/covers.ts'
import { desiredDeployment, templateHashOf } from '../../operator/workload/made-with.ts'
import { drainSecondsOf } from '../../operator/workload/settings.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const release = { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' }

function settingsOf(gateway: KubeObject) {
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const spec = WorkloadSpec.parse(gateway.spec ?? {})
  const drainSeconds = drainSecondsOf(spec, configuration.needs.requestTimeoutSeconds)
  return { gateway, spec, needs: configuration.needs, drainSeconds, release }
}

function withSecrets(...secrets: readonly string[]): KubeObject {
  const upstreams = secrets.map((secret) => ({
    name: secret,
    provider: 'openai',
    model: 'm',
    api_key: `\${secret:${secret}/key}`,
  }))
  const routes = [{ name: 'chat', strategy: 'round_robin', upstreams: secrets }]
  return aGateway({ gw: { upstreams, routes } })
}

/** Whether the pods are replaced when the first gateway is changed into the second. */
function rolls(before: KubeObject, after: KubeObject): boolean {
  const live = desiredDeployment(settingsOf(before), undefined)
  return templateHashOf(desiredDeployment(settingsOf(after), live)) !== templateHashOf(live)
}

test('limits, routes, budgets and timeouts roll nothing', () => {
  const edits = [
    { rate_limits: { default: { requests_per_minute: 9 } } },
    { rate_limits: { backend: 'memory' } },
    { aliases: { x: 'chat' } },
    { gateway: { request_timeout_seconds: 900 } },
    { gateway: { max_request_bytes: 4096 } },
  ]
  for (const gw of edits) assert.equal(rolls(aGateway(), aGateway({ gw })), false)
})

test('a port, an image, a field of the pod, a Secret and a variable roll the pods', () => {
  const variable = [{ name: 'a', provider: 'vllm', model: 'm', endpoint: '${env:URL}' }]
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['a'] }]
  const edits = [
    aGateway({ gw: { gateway: { listen_port: 8181 } } }),
    aGateway({ spec: { image: 'other' } }),
    aGateway({ spec: { nodeSelector: { disk: 'fast' } } }),
    aGateway({ spec: { drainTimeoutSeconds: 7 } }),
    aGateway({ gw: { upstreams: variable, routes } }),
    withSecrets('one'),
  ]
  for (const edit of edits) assert.equal(rolls(aGateway(), edit), true)
})

test('a Secret that is no longer needed stays mounted until another change rolls the pods', () => {
  assert.equal(rolls(withSecrets('one', 'two'), withSecrets('one')), false)
  assert.equal(rolls(withSecrets('one'), withSecrets('one', 'two')), true)
})

test('the autoscaler sets the replicas', () => {
  const replicasOf = (spec: object) =>
    (
      desiredDeployment(settingsOf(aGateway({ spec: { ...spec } })), undefined).spec as {
        replicas?: number
      }
    ).replicas
  assert.equal(replicasOf({ replicas: 3 }), 3)
  assert.equal(replicasOf({ replicas: 3, autoscaling: { maxReplicas: 5 } }), undefined)
  assert.equal(replicasOf({ autoscaling: { mode: 'External' } }), undefined)
})

test("an autoscaled gateway starts with its autoscaler's minimum", () => {
  const initialOf = (autoscaling: object) =>
    childrenOf(settingsOf(aGateway({ spec: { autoscaling } })), {}, undefined).find(
      ({ resource }) => resource.kind === 'Deployment',
    )?.initial
  assert.deepEqual(initialOf({ minReplicas: 3, maxReplicas: 5 }), { replicas: 3 })
  assert.equal(initialOf({ maxReplicas: 5 }), undefined)
  assert.equal(initialOf({ mode: 'External' }), undefined)
})

test('pods are restricted, have no token, and end after a drain', () => {
  // The operator refuses this variable; one that is stored anyway changes nothing.
  const spec = WorkloadSpec.parse({ env: [{ name: 'GW_TRUST_DIR', value: '/evil' }] })
  const settings = { ...settingsOf(aGateway()), spec }
  const { template } = desiredDeployment(settings, undefined).spec as {
    template: { spec: Record<string, unknown> & { containers: Record<string, unknown>[] } }
  }
  const pod = template.spec
  const [container] = pod.containers
  assert.equal(pod.automountServiceAccountToken, false)
  assert.equal(pod.terminationGracePeriodSeconds, 10 + 610 + 10)
  assert.ok(
    covers(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
  )
  assert.ok(
    covers(container?.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    }),
  )
  const trust = ((container?.env ?? []) as { name: string; value: string }[]).filter(
    ({ name }) => name === 'GW_TRUST_DIR',
  )
  assert.deepEqual(trust, [{ name: 'GW_TRUST_DIR', value: '/etc/gw/trust' }])
})

test('every object is owned by its gateway, and disabled objects are not created', () => {
  const spec = { podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false } }
  const children = childrenOf(settingsOf(aGateway({ spec })), {}, undefined)
  const wanted = children.flatMap(({ resource, desired }) => (desired ? [resource.kind] : []))
  assert.deepEqual(wanted, ['ServiceAccount', 'ConfigMap', 'Service', 'Deployment'])
  for (const { desired } of children) {
    if (desired === undefined) continue
    assert.equal(desired.metadata.ownerReferences?.[0]?.uid, 'uid-1')
    assert.equal(desired.metadata.namespace, 'ai')
  }
})

test('only the operator may open the push port', () => {
  const policy = childrenOf(settingsOf(aGateway()), {}, undefined).find(
    ({ resource }) => resource.kind === 'NetworkPolicy',
  )
  const { ingress = [] } = (policy?.desired?.spec ?? {}) as {
    ingress?: { ports: { port: number }[]; from?: unknown[] }[]
  }
  const push = ingress.filter(({ ports }) => ports.some(({ port }) => port === 9092))
  assert.equal(push.length, 1)
  assert.ok(
    covers(push[0]?.from, [
      { podSelector: { matchLabels: { 'app.kubernetes.io/component': 'operator' } } },
    ]),
  )
})

test('additions of the API server are not a difference, changes by another client are', () => {
  assert.ok(covers({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ c: 2 }] }))
  assert.ok(!covers({ b: [{ c: 3 }] }, { b: [{ c: 2 }] }))
  assert.ok(!covers({ b: [{ c: 2 }, {}] }, { b: [{ c: 2 }] }))
  assert.ok(!covers({}, { b: undefined, c: 1 }))
})
