/** One gateway from its configuration to its status, with parts that record their arguments. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, mock, test } from 'node:test'
import { compile } from '../../operator/compile/compile.ts'
import { type Stored, signConfiguration, signKeys } from '../../operator/delivery/bundle.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { ForeignObjectError } from '../../operator/reconcilers/config.ts'
import { type GatewayOptions, GatewayReconciler } from '../../operator/reconcilers/gateway.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

afterEach(() => mock.restoreAll())

const KEY = 'ai/production'
const { privateKey } = generateKeyPairSync('ed25519')
const signing = { privateKey, keyId: 'test', trusted: { test: 'a public key' } }
const identity = { uid: 'uid-1', namespace: 'ai', name: 'production' }

/** The stored documents of a gateway whose configuration has this sequence. */
function aStored(sequence: number): Required<Stored> {
  const { configuration } = compile({ gateway: aGateway(), keys: [], now: 0 })
  assert.ok(configuration)
  const facts = { gateway: identity, sequence }
  return {
    configuration: signConfiguration(configuration.payload, { ...facts, generation: 3 }, signing),
    keys: signKeys([], facts, signing),
  }
}

function aPod(name: string): KubeObject {
  const conditions = [{ type: 'Ready', status: 'True' }]
  return {
    metadata: { name, namespace: 'ai', uid: `uid-${name}` },
    status: { phase: 'Running', conditions },
  }
}

function aSlice(service: string, ready: number) {
  const labels = { 'kubernetes.io/service-name': service }
  return { metadata: { name: `${service}-1`, namespace: 'ai', labels }, ready }
}

/** A pod of the pusher that enforces a configuration. */
function enforcing(hash: string | undefined, ready = true) {
  return { target: { ready }, report: { configuration: { hash } } }
}

/** A reconciler whose parts note their steps. Tests change the results of the parts. */
function aRig(gateway: KubeObject | undefined = aGateway()) {
  const steps: string[] = []
  const note = <T>(step: string, value: T): T => {
    steps.push(step)
    return value
  }
  const rig = {
    steps,
    gateway: gateway as KubeObject | undefined,
    before: aStored(1) as Stored,
    after: aStored(2) as Stored,
    compilation: { compiled: compile({ gateway: aGateway(), keys: [], now: 0 }), isNew: true } as {
      compiled: ReturnType<typeof compile>
      isNew: boolean
      againMs?: number
    },
    workload: async (): Promise<object> => ({ kind: 'applied' }),
    read: async (): Promise<Stored> => rig.before,
    pods: [aPod('a'), aPod('stranger')],
    states: [] as object[],
    slices: [] as object[],
    hasServices: true,
    statusAgainMs: undefined as number | undefined,
    mountsAgainMs: undefined as number | undefined,
    /** The last arguments of the parts. */
    status: {} as Readonly<Record<string, unknown>>,
    pushed: [] as unknown[],
    floors: {} as unknown,
    kept: undefined as unknown,
    shaped: {} as Readonly<Record<string, unknown>>,
  }
  const options = {
    world: {
      stores: { gatewayConfigs: { get: () => rig.gateway }, deployments: { get: () => undefined } },
      podsOf: { get: () => rig.pods },
      endpointSlicesOf: { get: () => rig.slices },
    },
    compilations: {
      of: () => note('compile', rig.compilation),
      forget: () => note('forget compilation', undefined),
    },
    config: {
      read: () => note('read', rig.read()),
      async reconcile(_gateway: unknown, _compiled: unknown, floors: unknown) {
        rig.floors = floors
        return note('store', rig.after)
      },
      needsOfLastKnownGood: () => undefined,
      lastKnownGood: () => ({ hash: 'good' }),
      async keepLastKnownGood(_gateway: unknown, configuration: unknown) {
        rig.kept = note('keep', configuration)
      },
      forget: () => note('forget config', undefined),
    },
    workload: {
      async reconcile(settings: Readonly<Record<string, unknown>>) {
        rig.shaped = note('shape', settings)
        return await rig.workload()
      },
      liveOf: () => ({ deployment: undefined, service: undefined, httpRoute: undefined }),
    },
    status: {
      async reconcile(facts: Readonly<Record<string, unknown>>) {
        rig.status = note('status', facts)
        return rig.statusAgainMs
      },
      forget: () => note('forget status', undefined),
    },
    mounts: {
      renew: async () => note('mounts', rig.mountsAgainMs),
      forget: () => note('forget mounts', undefined),
    },
    pusher: {
      program: (...given: unknown[]) => {
        rig.pushed = note('push', given)
      },
      statesOf: () => rig.states,
      floorOf: (_key: string, part: string) => (part === 'keys' ? 7 : 8),
      forget: () => note('forget pusher', undefined),
    },
    endpoints: {
      program: () => note('endpoints', undefined),
      troubleOf: () => undefined,
      forget: () => note('forget endpoints', undefined),
    },
    owners: {
      ownedBy: async (_gateway: unknown, _deployment: unknown, pods: readonly KubeObject[]) =>
        pods.filter(({ metadata }) => metadata.name !== 'stranger'),
      forget: () => note('forget owners', undefined),
    },
    signingKeys: () => signing,
    release: { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' },
    platform: () => ({ assignsUsers: false, hasHttpRoutes: true }),
    random: () => 0.5,
    network: {
      originOf: ({ metadata }: KubeObject) => `http://${metadata.name}`,
      get hasServices() {
        return rig.hasServices
      },
    },
    onCompiled: (key: string) => note(`compiled ${key}`, undefined),
    timings: { resyncMs: 600_000, soakMs: 5_000 },
  }
  // Only these members are called.
  const reconciler = new GatewayReconciler(options as unknown as GatewayOptions)
  return { rig, reconciler, reconcile: () => reconciler.reconcile(KEY) }
}

const DELETED = { metadata: { deletionTimestamp: '2026-11-21T12:00:00Z' } }

test('a gateway is compiled, stored, pushed and shaped, and then its status is written', async () => {
  const { rig, reconcile } = aRig()
  assert.deepEqual(await reconcile(), { againMs: 600_000 })
  assert.deepEqual(rig.steps, [
    ...['read', 'compile', `compiled ${KEY}`, 'store', 'push', 'endpoints', 'shape'],
    ...['status', 'mounts'],
  ])
  assert.deepEqual(rig.status.documents, rig.after)
  assert.deepEqual(rig.status.workload, { kind: 'applied' })
  assert.equal(rig.status.lastKnownGoodHash, 'good')
  const { release, platform } = rig.shaped
  assert.deepEqual([Object(release).image, Object(platform).hasHttpRoutes], ['gw:1', true])
})

test('the stored documents go to the pods that the gateway owns, with the span', async () => {
  const { rig, reconciler } = aRig()
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  await reconciler.reconcile(KEY, trace)
  const target = { uid: 'uid-a', name: 'a', origin: 'http://a', ready: true }
  assert.deepEqual(rig.pushed, [KEY, [target], { ...rig.after, trace }])
  const named = rig.status.podObjects as readonly KubeObject[]
  assert.deepEqual(
    named.map(({ metadata }) => metadata.name),
    ['a'],
  )
})

test('sequences that pods have seen are passed to the part that numbers documents', async () => {
  const { rig, reconcile } = aRig()
  await reconcile()
  assert.deepEqual(rig.floors, { configuration: 8, keys: 7 })
})

test('keys are checked again only after another compilation', async () => {
  const { rig, reconcile } = aRig()
  rig.compilation = { ...rig.compilation, isNew: false }
  await reconcile()
  assert.equal(rig.steps.includes(`compiled ${KEY}`), false)
})

test('every part forgets a deleted gateway', async () => {
  const { rig, reconcile } = aRig()
  rig.gateway = undefined
  assert.equal(await reconcile(), undefined)
  const parts = ['compilation', 'config', 'endpoints', 'mounts', 'owners', 'pusher', 'status']
  assert.deepEqual(rig.steps.toSorted(), [
    `compiled ${KEY}`,
    ...parts.map((part) => `forget ${part}`),
  ])
})

test('a paused gateway keeps its stored documents, and only its status is written', async () => {
  const { rig, reconcile } = aRig(aGateway({ spec: { paused: true } }))
  rig.states = [enforcing(rig.before.configuration?.hash)]
  assert.deepEqual(await reconcile(), { againMs: 600_000 }, 'nothing will be kept as good')
  assert.deepEqual(rig.steps, ['read', 'push', 'endpoints', 'status'])
  assert.deepEqual(rig.pushed[2], { ...rig.before, trace: undefined })
  assert.deepEqual([rig.status.isPaused, rig.status.compiled], [true, undefined])
})

test('a failing step is written into the status, and then reported', async () => {
  const { rig, reconcile } = aRig()
  rig.workload = () => Promise.reject(new Error('the API server is away'))
  await assert.rejects(reconcile(), /the API server is away/)
  assert.deepEqual(rig.status.workload, { kind: 'failed', message: 'the API server is away' })
  assert.deepEqual(
    rig.status.documents,
    rig.after,
    'the earlier stored documents are in the status',
  )
})

test('a ConfigMap of another owner is a conflict that is checked again within seconds', async () => {
  const { rig, reconcile } = aRig()
  rig.read = () => Promise.reject(new ForeignObjectError('ConfigMap', 'production-gw'))
  assert.deepEqual(await reconcile(), { againMs: 15_000 })
  assert.equal((rig.status.workload as { kind: string }).kind, 'conflict')
  assert.equal(rig.status.lastKnownGoodHash, undefined, 'it may be of the other owner')
  assert.equal(rig.steps.includes('push'), false)
})

test('a pending check says nothing about the document', async () => {
  const { rig, reconcile } = aRig()
  const compiled = { ...rig.compilation.compiled, isPending: true as const }
  rig.compilation = { compiled, isNew: true }
  await reconcile()
  assert.equal(rig.status.compiled, undefined)
  assert.ok(rig.steps.includes('push'), 'its keys go to the pods')
})

test('pods are not shaped before there is a configuration', async () => {
  const { rig, reconcile } = aRig()
  rig.after = { keys: aStored(2).keys }
  await reconcile()
  assert.equal(rig.steps.includes('shape'), false)
  assert.deepEqual(rig.status.workload, { kind: 'applied' })
})

test('the gateway is reconciled again at the earliest time of its parts', async () => {
  const { rig, reconcile } = aRig()
  for (const [times, expected] of [
    [{ statusAgainMs: 300, mountsAgainMs: 900, keysMs: 500 }, 300],
    [{ statusAgainMs: undefined, mountsAgainMs: 900, keysMs: 500 }, 500],
    [{ statusAgainMs: undefined, mountsAgainMs: 900, keysMs: undefined }, 900],
  ] as const) {
    const { statusAgainMs, mountsAgainMs, keysMs } = times
    const { compiled } = rig.compilation
    const compilation = { compiled, isNew: false, ...(keysMs && { againMs: keysMs }) }
    Object.assign(rig, { statusAgainMs, mountsAgainMs, compilation })
    assert.deepEqual(await reconcile(), { againMs: expected })
  }
})

for (const [what, outcome, againMs] of [
  ['waits for its turn to roll', { kind: 'waiting', message: 'others first' }, 2_000],
  ['meets an object of another owner', { kind: 'conflict', message: 'theirs' }, 15_000],
  ['has a route of another owner', { kind: 'applied', routeConflict: 'theirs' }, 15_000],
] as const) {
  test(`a gateway that ${what} is reconciled again after ${againMs / 1000} s`, async () => {
    const { rig, reconcile } = aRig()
    rig.workload = async () => outcome
    assert.deepEqual(await reconcile(), { againMs })
    assert.deepEqual(rig.status.workload, outcome)
  })
}

test('a configuration is kept as good after every ready pod has enforced it for five seconds', async () => {
  let now = 1_000
  mock.method(performance, 'now', () => now)
  const { rig, reconcile } = aRig()
  const { hash } = rig.after.configuration ?? {}
  rig.states = [enforcing(hash), enforcing('older', false)]
  assert.deepEqual(await reconcile(), { againMs: 5_000 })
  now += 4_000
  assert.deepEqual(await reconcile(), { againMs: 1_000 })
  assert.equal(rig.kept, undefined)
  now += 1_000
  await reconcile()
  assert.equal(rig.kept, rig.after.configuration)
})

test('the five seconds start again with another document, and after a pod that lost it', async () => {
  let now = 1_000
  mock.method(performance, 'now', () => now)
  const { rig, reconcile } = aRig()
  const { hash } = rig.after.configuration ?? {}
  rig.states = [enforcing(hash)]
  await reconcile()
  now += 4_000
  rig.after = aStored(3)
  assert.deepEqual(await reconcile(), { againMs: 5_000 })
  now += 4_000
  rig.states = [enforcing(hash), enforcing('older')]
  assert.deepEqual(await reconcile(), { againMs: 600_000 })
  rig.states = [enforcing(hash)]
  now += 4_000
  assert.deepEqual(await reconcile(), { againMs: 5_000 })
  assert.equal(rig.kept, undefined)
})

test('a configuration that no ready pod enforces is not kept', async () => {
  let now = 1_000
  mock.method(performance, 'now', () => now)
  const { rig, reconcile } = aRig()
  for (const states of [[], [enforcing(rig.after.configuration?.hash, false)]]) {
    rig.states = states
    await reconcile()
    now += 10_000
    await reconcile()
  }
  assert.equal(rig.kept, undefined)
})

test('the ready endpoints of the Service are counted, without those of the metrics', async () => {
  const { rig, reconcile } = aRig()
  rig.slices = [aSlice('production', 2), aSlice('production', 1), aSlice('production-metrics', 3)]
  await reconcile()
  assert.equal(rig.status.endpoints, 3)
  rig.hasServices = false
  await reconcile()
  assert.equal(rig.status.endpoints, undefined)
})

test('a gateway that is being deleted still has its keys pushed, and nothing else created', async () => {
  const { rig, reconcile } = aRig(aGateway(DELETED))
  rig.compilation = { ...rig.compilation, againMs: 400 }
  assert.deepEqual(await reconcile(), { againMs: 400 })
  assert.deepEqual(rig.steps, [
    ...['read', 'compile', `compiled ${KEY}`, 'store', 'push', 'endpoints'],
  ])
  assert.deepEqual(rig.pushed[2], { ...rig.after, trace: undefined })
})

test('a gateway that is being deleted is forgotten once nothing of it is stored', async () => {
  for (const read of [
    async () => ({}),
    () => Promise.reject(new ForeignObjectError('ConfigMap', 'production-gw')),
  ]) {
    const { rig, reconcile } = aRig(aGateway(DELETED))
    rig.read = read
    assert.equal(await reconcile(), undefined)
    assert.ok(rig.steps.includes('forget pusher'))
    assert.equal(rig.steps.includes('push'), false)
  }
})

test('a paused gateway that is being deleted is not changed', async () => {
  const { rig, reconcile } = aRig(aGateway({ ...DELETED, spec: { paused: true } }))
  assert.equal(await reconcile(), undefined)
  assert.deepEqual(rig.steps, [])
})
