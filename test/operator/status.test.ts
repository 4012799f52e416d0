/** A status is computed from facts alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import type { StatusFacts } from '../../operator/status/facts.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { aPod, conditionOf, deployment, NOW, says, statusOf } from './a-status.ts'

const LATER = '2026-06-01T00:10:00Z'

test('when every pod enforces the configuration the gateway is ready, with its address', () => {
  const status = statusOf()
  assert.equal(says(status, 'Programmed'), 'True Programmed')
  assert.equal(says(status, 'Ready'), 'True Ready')
  assert.equal(says(status, 'Degraded'), 'False AsConfigured')
  assert.equal(status.address, 'http://production.ai.svc')
  assert.equal(status.programmedReplicas, 2)
  assert.equal(status.programmedAt, NOW)
  for (const { observedGeneration } of status.conditions) assert.equal(observedGeneration, 3)
})

test('an unchanged status keeps its times', () => {
  const first = statusOf()
  assert.deepEqual(statusOf({ before: first, now: LATER }), first)
})

test('the acknowledgement time belongs to this configuration, even after a pod was late', () => {
  const [pods, behind] = [
    [aPod('a')],
    [aPod('a', { state: 'pending' }, { configuration: { hash: 'old' } })],
  ]
  const former = { ...statusOf({ pods }), activeHash: 'former' }
  const written = statusOf({ before: former, now: LATER, pods: behind })
  assert.equal(says(written, 'Programmed'), 'False Progressing')
  assert.equal(written.programmedAt, undefined)
  assert.equal(statusOf({ before: written, now: LATER, pods }).programmedAt, LATER)
})

test('a condition that changes gets a new time, the others keep theirs', () => {
  const refused = aPod('b', { state: 'rejected', error: 'no' }, { configuration: { hash: 'old' } })
  const status = statusOf({ before: statusOf(), now: LATER, pods: [aPod('a'), refused] })
  const timeOf = (type: string) =>
    status.conditions.find((condition) => condition.type === type)?.lastTransitionTime
  assert.equal(timeOf('Programmed'), LATER)
  assert.equal(timeOf('Accepted'), NOW)
  assert.equal(says(status, 'Programmed'), 'False Rejected')
  assert.match(conditionOf(status, 'Programmed').message, /^One pod refuses generation 3\. b: no/)
  assert.equal(says(status, 'Ready'), 'False Rejected')
  assert.equal(says(status, 'Degraded'), 'True UsingLastKnownGood')
  assert.deepEqual(
    status.pods.map(({ name, state }) => `${name} ${state}`),
    ['b Rejected', 'a Programmed'],
  )
})

test('an unreachable pod is named if it takes requests', () => {
  const lost = aPod('b', { state: 'unreachable', error: 'refused' }, { configuration: {} })
  assert.equal(says(statusOf({ pods: [aPod('a'), lost] }), 'Programmed'), 'False PodUnreachable')
  const starting = { ...lost, target: { ...lost.target, ready: false } }
  assert.equal(says(statusOf({ pods: [aPod('a'), starting] }), 'Programmed'), 'True Programmed')
})

const storeAway = (fail_open: boolean) =>
  aPod('a', undefined, { store: { backend: 'redis', state: 'away', fail_open } })

test('while a store is away that requests wait for, the gateway is not ready', () => {
  const status = statusOf({ pods: [storeAway(false), aPod('b')] })
  assert.equal(says(status, 'Degraded'), 'True StoreAway')
  assert.equal(says(status, 'Ready'), 'False StoreAway')
  for (const type of ['Degraded', 'Ready']) {
    assert.match(conditionOf(status, type).message, /answer a; requests are refused with 503/)
  }
})

test('while pods continue without the store the gateway is ready, and degraded', () => {
  const status = statusOf({ pods: [storeAway(true)] })
  assert.equal(says(status, 'Degraded'), 'True StoreAway')
  assert.match(conditionOf(status, 'Degraded').message, /its own share/)
  assert.equal(says(status, 'Ready'), 'True Ready')
  assert.match(conditionOf(status, 'Ready').message, /not all as configured. See Degraded/)
})

test('pods that no client of the Service reaches are not available', () => {
  const status = statusOf({ endpoints: 0 })
  assert.equal(says(status, 'WorkloadAvailable'), 'False NoEndpoints')
  assert.match(conditionOf(status, 'WorkloadAvailable').message, /Service production.*-n ai/)
  assert.equal(says(status, 'Ready'), 'False NoEndpoints')
  const away = { ...deployment, spec: { replicas: 0 }, status: { observedGeneration: 1 } }
  assert.equal(
    says(statusOf({ endpoints: 0, deployment: away }), 'WorkloadAvailable'),
    'True Available',
  )
})

test('changes that wait for new pods are reported', () => {
  const waiting = aPod('a', undefined, { waitsForStart: ['gw.rate_limits.redis'] })
  const status = statusOf({ pods: [waiting, aPod('b')] })
  assert.equal(says(status, 'Degraded'), 'True WaitsForNewPods')
  assert.match(conditionOf(status, 'Degraded').message, /gw\.rate_limits\.redis/)
})

test('a new pod that was not checked yet does not remove the condition', () => {
  const fresh = { ...aPod('c', { state: 'pending' }), report: undefined }
  const pods = [aPod('a'), fresh]
  assert.equal(says(statusOf({ before: statusOf(), pods }), 'Programmed'), 'True Programmed')
  assert.equal(says(statusOf({ pods }), 'Programmed'), 'False Progressing')
})

test('the same configuration with another sequence is the same configuration', () => {
  const pending = { state: 'pending' } as const
  assert.equal(says(statusOf({ pods: [aPod('a', pending)] }), 'Programmed'), 'True Programmed')
})

test('a generation that came during a pause is not reported as enforced', () => {
  const gateway = aGateway({ spec: { paused: true }, metadata: { generation: 4 } })
  const status = statusOf({ gateway, isPaused: true, compiled: undefined, before: statusOf() })
  assert.equal(says(status, 'Programmed'), 'Unknown Paused')
  assert.match(conditionOf(status, 'Programmed').message, /generation 4; the pods have 3/)
  assert.equal(says(status, 'Ready'), 'Unknown Paused')
})

test('an invalid edit does not change the pods, and the status names the field', () => {
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['x'] }]
  const status = statusOf({ gateway: aGateway({ gw: { routes } }), before: statusOf() })
  assert.equal(says(status, 'Accepted'), 'False Invalid')
  assert.match(conditionOf(status, 'Accepted').message, /^gw\.routes\[0\]\.upstreams\[0\]/)
  assert.match(conditionOf(status, 'Programmed').message, /2 pods keep generation 3/)
  assert.equal(says(status, 'Degraded'), 'True UsingLastKnownGood')
  assert.equal(status.problems[0]?.severity, 'error')
})

test('missing references, and fields that pods do not know, are reported', () => {
  const unresolved = [{ upstream: 'hosted', reference: '${secret:a/b}', why: 'no file' }]
  const out = statusOf({ pods: [aPod('a', undefined, { unresolved })] })
  assert.equal(says(out, 'ResolvedRefs'), 'False SecretUnresolved')
  assert.match(conditionOf(out, 'ResolvedRefs').message, /upstream hosted: \$\{secret:a\/b\}/)
  assert.equal(says(out, 'Degraded'), 'True UpstreamsDisabled')
  const ignored = statusOf({ pods: [aPod('a', undefined, { ignored: ['/gw/new'] })] })
  assert.equal(says(ignored, 'Degraded'), 'True FieldsIgnored')
})

test('the status distinguishes pods that are missing, starting, or owned by others', () => {
  const at = (availableReplicas: number, updatedReplicas: number) => ({
    ...deployment,
    status: { ...deployment.status, availableReplicas, updatedReplicas },
  })
  const workloadOf = (facts: Partial<StatusFacts>) => says(statusOf(facts), 'WorkloadAvailable')
  assert.equal(workloadOf({}), 'True Available')
  assert.equal(workloadOf({ deployment: at(0, 0) }), 'False NoReplicasAvailable')
  assert.equal(workloadOf({ deployment: at(2, 1) }), 'False RolloutInProgress')
  assert.equal(workloadOf({ deployment: undefined }), 'Unknown Pending')
  assert.equal(workloadOf({ workload: { kind: 'conflict', message: 'x' } }), 'False Conflict')
  assert.equal(workloadOf({ workload: { kind: 'failed', message: 'x' } }), 'False ApplyFailed')
  assert.equal(says(statusOf({ pods: [] }), 'Programmed'), 'False NoPods')
})

test('before anything is known every condition is Unknown, and none is omitted', () => {
  const facts = { compiled: undefined, documents: {}, pods: [], deployment: undefined }
  const status = statusOf({ ...facts, service: undefined, isPaused: true })
  for (const condition of status.conditions) assert.equal(condition.status, 'Unknown')
  assert.equal(status.conditions.length, 6)
})

test('the status fits the definition, also with very many pods', () => {
  const pods = Array.from({ length: 900 }, (_, index) =>
    aPod(`p${index}`, { state: 'rejected', error: 'x'.repeat(9000) }),
  )
  const status = statusOf({ pods })
  assert.deepEqual(GatewayStatus.parse(status), status)
})

test('an upstream that refuses the credential is named with the affected pods, and the gateway is ready', () => {
  const refusedCredentials = [{ upstream: 'hosted', status: 401 }]
  const status = statusOf({ pods: [aPod('a', undefined, { refusedCredentials }), aPod('b')] })
  assert.equal(says(status, 'Degraded'), 'True CredentialRejected')
  assert.match(
    conditionOf(status, 'Degraded').message,
    /hosted \(401 to a\)\. Renew the Secrets that their api_key/,
  )
  assert.equal(says(status, 'Ready'), 'True Ready')
  const all = statusOf({ pods: [aPod('a', undefined, { refusedCredentials })] })
  assert.match(conditionOf(all, 'Degraded').message, /hosted \(401 to every pod\)/)
})

test('rollouts are in the status, and one that went back degrades the gateway with its reason', () => {
  const reported = (changed_at: string, phase: string, share: number) => ({
    ...{ route: 'chat', to: 'new', phase, share, changed_at },
    reason: 'failed requests 100 % instead of 0 %',
  })
  const running = aPod('a', undefined, { rollouts: [reported(NOW, 'running', 5)] })
  const back = aPod('b', undefined, { rollouts: [reported(LATER, 'back', 0)] })
  assert.equal(says(statusOf({ pods: [running] }), 'Degraded'), 'False AsConfigured')
  const status = statusOf({ pods: [running, back] })
  assert.equal(says(status, 'Degraded'), 'True RolloutBack')
  assert.match(conditionOf(status, 'Degraded').message, /new on chat \(failed requests 100 %/)
  assert.deepEqual(
    status.rollouts?.map(({ route, phase, share }) => [route, phase, share]),
    [['chat', 'back', '0']],
  )
  assert.equal(statusOf().rollouts, undefined)
})
