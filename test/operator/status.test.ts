/** What a status says, from facts alone. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { CONDITIONS, type ConditionType } from '../../crds/conditions.ts'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { signConfiguration } from '../../operator/bundle.ts'
import { compile } from '../../operator/compile.ts'
import { type KubeObject, RESOURCES } from '../../operator/objects.ts'
import type { LaneState } from '../../operator/pod-lane.ts'
import { readReport } from '../../operator/pod-reports.ts'
import type { PodState } from '../../operator/pusher.ts'
import type { StatusFacts } from '../../operator/status/facts.ts'
import { gatewayStatus } from '../../operator/status/gateway-status.ts'
import { trimOf } from '../../operator/trim.ts'
import { aGateway } from './a-gateway.ts'

const { privateKey } = generateKeyPairSync('ed25519')
/** As the operator keeps pods. */
const trimPod = trimOf(RESOURCES.pods)
const NOW = '2026-06-01T00:00:00Z'
const LATER = '2026-06-01T00:10:00Z'

function documentOf(gateway: KubeObject) {
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const identity = { uid: 'uid-1', namespace: 'ai', name: 'production' }
  const facts = { gateway: identity, sequence: 5, generation: 3 }
  return signConfiguration(configuration.payload, facts, { privateKey, keyId: 'k', trusted: {} })
}

const document = documentOf(aGateway())

function aPod(
  name: string,
  configuration: LaneState = { state: 'acknowledged' },
  report: object = {},
): PodState {
  const { hash, documentHash, sequence, generation } = document
  const enforced = { hash, documentHash, sequence, generation, newestSequence: sequence }
  return {
    target: { uid: name, name, origin: 'http://x', ready: true },
    report: readReport({ configuration: enforced, keys: { sequence: 1 }, ...report }),
    configuration,
    keys: { state: 'acknowledged' },
  }
}

const deployment = {
  metadata: { name: 'production', generation: 1 },
  spec: { replicas: 2 },
  status: {
    observedGeneration: 1,
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    readyReplicas: 2,
  },
}

function statusOf(facts: Partial<StatusFacts> = {}): GatewayStatus {
  const { gateway = aGateway() } = facts
  const status = gatewayStatus({
    gateway,
    before: GatewayStatus.parse({}),
    now: NOW,
    isPaused: false,
    compiled: compile({ gateway, keys: [], now: 0 }),
    documents: { configuration: document },
    lastKnownGoodHash: undefined,
    pods: [aPod('a'), aPod('b')],
    podObjects: [],
    deployment,
    service: { metadata: { name: 'production' }, spec: { ports: [{ port: 80 }] } },
    workload: { kind: 'applied' },
    ...facts,
  })
  for (const { type, reason } of status.conditions) assertKnown(type, reason)
  return status
}

/** The summary borrows the reason of what does not hold. */
function assertKnown(type: string, reason: string): void {
  const known: readonly string[] =
    type === 'Ready'
      ? Object.values(CONDITIONS).flat()
      : CONDITIONS[type as ConditionType] // Asserted by the caller's status: types come from there.
  assert.ok(known.includes(reason), `${type} has the reason ${reason}, which nobody is told of`)
}

function conditionOf(status: GatewayStatus, type: string) {
  const found = status.conditions.find((condition) => condition.type === type)
  return { status: found?.status, reason: found?.reason, message: found?.message ?? '' }
}

function says(status: GatewayStatus, type: string): string {
  const { status: value, reason } = conditionOf(status, type)
  return `${value} ${reason}`
}

test('when every pod enforces it the gateway is ready, and says where', () => {
  const status = statusOf()
  assert.equal(says(status, 'Programmed'), 'True Programmed')
  assert.equal(says(status, 'Ready'), 'True Ready')
  assert.equal(says(status, 'Degraded'), 'False AsConfigured')
  assert.equal(status.address, 'http://production.ai.svc')
  assert.equal(status.programmedReplicas, 2)
  assert.equal(status.programmedAt, NOW)
  for (const { observedGeneration } of status.conditions) assert.equal(observedGeneration, 3)
})

test('a status that has not changed has the times it had', () => {
  const first = statusOf()
  assert.deepEqual(statusOf({ before: first, now: LATER }), first)
})

test('a condition that turns has the time at which it turned, the others keep theirs', () => {
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

test('a pod that is unreachable is named if it takes requests', () => {
  const lost = aPod('b', { state: 'unreachable', error: 'refused' }, { configuration: {} })
  assert.equal(says(statusOf({ pods: [aPod('a'), lost] }), 'Programmed'), 'False PodUnreachable')
  const starting = { ...lost, target: { ...lost.target, ready: false } }
  assert.equal(says(statusOf({ pods: [aPod('a'), starting] }), 'Programmed'), 'True Programmed')
})

test('a store that is away is said, and what happens meanwhile', () => {
  const alone = (fail_open: boolean) =>
    aPod('a', undefined, { store: { state: 'away', fail_open } })
  const status = statusOf({ pods: [alone(false), aPod('b')] })
  assert.equal(says(status, 'Degraded'), 'True StoreAway')
  assert.match(conditionOf(status, 'Degraded').message, /answer a; requests are refused with 503/)
  const open = statusOf({ pods: [alone(true)] })
  assert.match(conditionOf(open, 'Degraded').message, /its own share/)
})

test('what waits for new pods is said', () => {
  const waiting = aPod('a', undefined, { waitsForStart: ['gw.rate_limits.redis'] })
  const status = statusOf({ pods: [waiting, aPod('b')] })
  assert.equal(says(status, 'Degraded'), 'True WaitsForNewPods')
  assert.match(conditionOf(status, 'Degraded').message, /gw\.rate_limits\.redis/)
})

test('a new pod that nobody has asked yet does not take the condition away', () => {
  const fresh = { ...aPod('c', { state: 'pending' }), report: undefined }
  const pods = [aPod('a'), fresh]
  assert.equal(says(statusOf({ before: statusOf(), pods }), 'Programmed'), 'True Programmed')
  assert.equal(says(statusOf({ pods }), 'Programmed'), 'False Progressing')
})

test('the same configuration under another number is the same configuration', () => {
  const pending = { state: 'pending' } as const
  assert.equal(says(statusOf({ pods: [aPod('a', pending)] }), 'Programmed'), 'True Programmed')
})

test('an invalid edit leaves the pods, and names the field', () => {
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['x'] }]
  const status = statusOf({ gateway: aGateway({ gw: { routes } }), before: statusOf() })
  assert.equal(says(status, 'Accepted'), 'False Invalid')
  assert.match(conditionOf(status, 'Accepted').message, /^gw\.routes\[0\]\.upstreams\[0\]/)
  assert.match(conditionOf(status, 'Programmed').message, /2 pods go on with generation 3/)
  assert.equal(says(status, 'Degraded'), 'True UsingLastKnownGood')
  assert.equal(status.problems[0]?.severity, 'error')
})

test('references that lead nowhere, and fields that pods do not know, are told', () => {
  const unresolved = [{ upstream: 'hosted', reference: '${secret:a/b}', why: 'no file' }]
  const out = statusOf({ pods: [aPod('a', undefined, { unresolved })] })
  assert.equal(says(out, 'ResolvedRefs'), 'False SecretUnresolved')
  assert.match(conditionOf(out, 'ResolvedRefs').message, /upstream hosted: \$\{secret:a\/b\}/)
  assert.equal(says(out, 'Degraded'), 'True UpstreamsDisabled')
  const ignored = statusOf({ pods: [aPod('a', undefined, { ignored: ['/gw/new'] })] })
  assert.equal(says(ignored, 'Degraded'), 'True FieldsIgnored')
})

test('a reference outside of upstreams that leads nowhere is told, with the Secret to create', () => {
  const problem = {
    pointer: '/gw/rate_limits/redis/url',
    message: '${secret:gw-redis/url} cannot be resolved: no file',
    fix: 'Provide the file where the gateway runs.',
    isUnresolved: true,
  }
  const state = { state: 'rejected', error: 'x', problems: [problem] } as const
  const waiting = aPod('a', state, { configuration: {} })
  const status = statusOf({ pods: [{ ...waiting, target: { ...waiting.target, ready: false } }] })
  assert.equal(says(status, 'ResolvedRefs'), 'False SecretUnresolved')
  assert.match(
    conditionOf(status, 'ResolvedRefs').message,
    /^gw\.rate_limits\.redis\.url: .*Create the Secret gw-redis with the key url in namespace ai/,
  )
  assert.equal(says(status, 'Degraded'), 'Unknown Pending')
  assert.equal(says(status, 'Programmed'), 'False Rejected')
})

test('a variable that is not set is told with the place where to set it', () => {
  const unresolved = [{ upstream: 'hosted', reference: '${env:KEY}', why: 'it is not set' }]
  const { message } = conditionOf(
    statusOf({ pods: [aPod('a', undefined, { unresolved })] }),
    'ResolvedRefs',
  )
  assert.match(message, /Set KEY in spec\.env or spec\.envFrom\.$/)
  assert.doesNotMatch(message, /Create the Secret/)
})

test('a gateway that is scaled to nothing says so', () => {
  const none = { ...deployment, spec: { replicas: 0 }, status: { observedGeneration: 1 } }
  const status = statusOf({ deployment: none, pods: [] })
  assert.equal(says(status, 'Ready'), 'False NoPods')
  assert.match(conditionOf(status, 'Ready').message, /scaled to 0 pods/)
})

const PENDING_POD = { type: 'PodScheduled', status: 'True' }

const TROUBLES: readonly (readonly [what: string, status: object, says: RegExp])[] = [
  [
    'an image that does not exist',
    held({
      state: {
        waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "reg/none:1"' },
      },
    }),
    /Pod p-1 does not start \(ImagePullBackOff\): Back-off pulling image "reg\/none:1"\. Correct spec\.image/,
  ],
  [
    'a Secret of envFrom that is missing',
    held({
      state: {
        waiting: { reason: 'CreateContainerConfigError', message: 'secret "gone" not found' },
      },
    }),
    /CreateContainerConfigError\): secret "gone" not found\. Create what is named there/,
  ],
  [
    'a program that ends',
    held({
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: {
        terminated: { exitCode: 1, reason: 'Error', message: '{"level":"error","message":"why"}\n' },
      },
    }),
    /CrashLoopBackOff\): it ended with 1 \(Error\): why\. Look at its log/,
  ],
  [
    'no node',
    { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }] },
    /Pod p-1 finds no node: 0\/3 nodes are available\. Make room/,
  ],
  [
    'an eviction',
    { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' },
    /Pod p-1 has failed \(Evicted\): The node was low on memory\./,
  ],
]

for (const [what, podStatus, words] of TROUBLES) {
  test(`a gateway without pods because of ${what} says why`, () => {
    const object = { metadata: { name: 'p-1', uid: 'p-1' }, status: podStatus }
    const none = { ...deployment, status: { observedGeneration: 1, availableReplicas: 0 } }
    const status = statusOf({ deployment: none, pods: [], podObjects: [trimPod(object)] })
    assert.equal(says(status, 'Ready'), 'False NoReplicasAvailable')
    assert.match(conditionOf(status, 'Ready').message, words)
  })
}

test('pods that Kubernetes refuses to make are told of with its words', () => {
  const conditions = [
    { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota: small, requested: pods=1' },
  ]
  const none = { ...deployment, status: { observedGeneration: 1, conditions } }
  const { message } = conditionOf(statusOf({ deployment: none, pods: [] }), 'WorkloadAvailable')
  assert.match(message, /Kubernetes refuses to make pods: exceeded quota: small/)
})

test('a rollout that does not come on says what holds up its newest pod', () => {
  const waiting = { state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } }
  const object = { metadata: { name: 'new', uid: 'new' }, status: held(waiting) }
  const rolling = { ...deployment, status: { ...deployment.status, updatedReplicas: 1 } }
  const status = statusOf({ deployment: rolling, podObjects: [trimPod(object)] })
  assert.equal(says(status, 'WorkloadAvailable'), 'False RolloutInProgress')
  assert.match(conditionOf(status, 'WorkloadAvailable').message, /Pod new .*ErrImagePull/)
})

/** The status of a pod whose only container is like this. */
function held(container: object): object {
  return { phase: 'Pending', conditions: [PENDING_POD], containerStatuses: [container] }
}

test('pods that are missing, on their way or not ours to make are told apart', () => {
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

test('before anything is known everything is unknown, and nothing is left out', () => {
  const facts = { compiled: undefined, documents: {}, pods: [], deployment: undefined }
  const status = statusOf({ ...facts, service: undefined, isPaused: true })
  for (const condition of status.conditions) assert.equal(condition.status, 'Unknown')
  assert.equal(status.conditions.length, 6)
})

test('what is written satisfies the definition, also with very many pods', () => {
  const pods = Array.from({ length: 900 }, (_, index) =>
    aPod(`p${index}`, { state: 'rejected', error: 'x'.repeat(9000) }),
  )
  const status = statusOf({ pods })
  assert.deepEqual(GatewayStatus.parse(status), status)
})
