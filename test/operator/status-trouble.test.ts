/** A status that is not ready names the fix, with the message of the failing program. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RESOURCES } from '../../operator/kube/objects.ts'
import { trimOf } from '../../operator/kube/watch/trim.ts'
import { aPod, conditionOf, deployment, says, statusOf } from './a-status.ts'

/** As the operator keeps pods. */
const trimPod = trimOf(RESOURCES.pods)

test('a missing reference outside upstreams is reported, with the Secret to create', () => {
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

test('an unset variable is reported with the place to set it', () => {
  const unresolved = [{ upstream: 'hosted', reference: '${env:KEY}', why: 'it is not set' }]
  const { message } = conditionOf(
    statusOf({ pods: [aPod('a', undefined, { unresolved })] }),
    'ResolvedRefs',
  )
  assert.match(message, /Set KEY in spec\.env or spec\.envFrom\.$/)
  assert.doesNotMatch(message, /Create the Secret/)
})

test('a gateway scaled to zero reports it', () => {
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
    /CreateContainerConfigError\): secret "gone" not found\. Create the object that the message names/,
  ],
  [
    'a program that ends',
    held({
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: {
        terminated: {
          exitCode: 1,
          reason: 'Error',
          message: '{"level":"error","message":"why"}\n',
        },
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
  test(`a gateway without pods because of ${what} reports the reason`, () => {
    const object = { metadata: { name: 'p-1', uid: 'p-1' }, status: podStatus }
    const none = { ...deployment, status: { observedGeneration: 1, availableReplicas: 0 } }
    const status = statusOf({ deployment: none, pods: [], podObjects: [trimPod(object)] })
    assert.equal(says(status, 'Ready'), 'False NoReplicasAvailable')
    assert.match(conditionOf(status, 'Ready').message, words)
    const [{ name, ready, error = '' } = assert.fail('no pod'), ...others] = status.pods
    assert.deepEqual([name, ready, others], ['p-1', false, []])
    assert.match(`Pod p-1 ${error}`, words)
  })
}

const ACCESS_LINE = '{"level":"info","method":"POST","path":"/v1/chat/completions","status":200}'
const ENDINGS: readonly (readonly [what: string, message: string, says: RegExp])[] = [
  [
    'that was killed reports it without its access log',
    ACCESS_LINE,
    /it ended with 137 \(Error\)\. Look/,
  ],
  [
    'that was killed reports it without the rest of a cut line',
    'v1/chat/completions","status":200}',
    /it ended with 137 \(Error\)\. Look/,
  ],
  [
    'that was killed reports it without its access log',
    '{"level":"info","message":"The keys were taken."}',
    /it ended with 137 \(Error\)\. Look/,
  ],
  [
    'that logged an error before its last requests reports that error',
    `{"level":"error","message":"the disk is full"}\n${ACCESS_LINE}`,
    /it ended with 137 \(Error\): the disk is full\./,
  ],
  [
    'that ended with plain text reports the text',
    'FATAL ERROR: heap out of memory',
    /: FATAL ERROR: heap out of memory\./,
  ],
]
for (const [what, message, words] of ENDINGS) {
  test(`a program ${what}`, () => {
    const ended = { state: { waiting: { reason: 'CrashLoopBackOff' } } }
    const terminated = { exitCode: 137, reason: 'Error', message }
    const object = {
      metadata: { name: 'p-1', uid: 'p-1' },
      status: held({ ...ended, lastState: { terminated } }),
    }
    const none = { ...deployment, status: { observedGeneration: 1, availableReplicas: 0 } }
    const status = statusOf({ deployment: none, pods: [], podObjects: [trimPod(object)] })
    assert.match(conditionOf(status, 'Ready').message, words)
    assert.doesNotMatch(conditionOf(status, 'Ready').message, /[{}]/)
  })
}

test('while pods are replaced, the reason is the fault that needs a user', () => {
  const unresolved = [{ upstream: 'hosted', reference: '${secret:a/b}', why: 'no file' }]
  const rolling = { ...deployment, status: { ...deployment.status, updatedReplicas: 1 } }
  const status = statusOf({ deployment: rolling, pods: [aPod('a', undefined, { unresolved })] })
  assert.equal(says(status, 'WorkloadAvailable'), 'False RolloutInProgress')
  assert.equal(says(status, 'Ready'), 'False SecretUnresolved')
})

test('a gateway with several faults has the worst as its reason, and names all of them', () => {
  const unresolved = [{ upstream: 'hosted', reference: '${secret:a/b}', why: 'no file' }]
  const ignored = ['/gw/new']
  const status = statusOf({ pods: [aPod('a', undefined, { unresolved, ignored })] })
  assert.equal(says(status, 'Degraded'), 'True UpstreamsDisabled')
  assert.match(conditionOf(status, 'Degraded').message, /hosted.*do not know \/gw\/new/)
})

test('pods that Kubernetes refuses to create are reported with its message', () => {
  const conditions = [
    { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota: small, requested: pods=1' },
  ]
  const none = { ...deployment, status: { observedGeneration: 1, conditions } }
  const { message } = conditionOf(statusOf({ deployment: none, pods: [] }), 'WorkloadAvailable')
  assert.match(message, /Kubernetes refuses to create pods: exceeded quota: small/)
})

test('a stuck rollout reports what its newest pod waits for', () => {
  const waiting = { state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } }
  const object = { metadata: { name: 'new', uid: 'new' }, status: held(waiting) }
  const rolling = { ...deployment, status: { ...deployment.status, updatedReplicas: 1 } }
  const status = statusOf({ deployment: rolling, podObjects: [trimPod(object)] })
  assert.equal(says(status, 'WorkloadAvailable'), 'False RolloutInProgress')
  assert.match(conditionOf(status, 'WorkloadAvailable').message, /Pod new .*ErrImagePull/)
})

test('a rollout that Kubernetes has abandoned reports that others no longer wait for it', () => {
  const overdue = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }
  const says = (conditions: readonly object[]) => {
    const status = { ...deployment.status, updatedReplicas: 1, conditions }
    return conditionOf(statusOf({ deployment: { ...deployment, status } }), 'WorkloadAvailable')
  }
  assert.match(says([overdue]).message, /No pod has come up for 10 minutes, so other gateways/)
  assert.doesNotMatch(says([]).message, /10 minutes/)
})

/** The status of a pod with this single container. */
function held(container: object): object {
  return { phase: 'Pending', conditions: [PENDING_POD], containerStatuses: [container] }
}
