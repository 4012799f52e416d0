/** Two operators never write at a time: shown with a lease that behaves like that of a real API server. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { ApiError } from '../../operator/kube/api-error.ts'
import { LeaderLease } from '../../operator/kube/lease.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { until } from '../helpers/until.ts'

const TIMINGS = { durationMs: 1000, renewMs: 400, retryMs: 30 }

/** One object with optimistic locking. */
function aStore() {
  let stored: KubeObject | undefined
  let version = 0
  const faults = { isAway: false }
  const check = () => {
    if (faults.isAway) throw new Error('connection refused')
  }
  const put = (object: KubeObject) => {
    const resourceVersion = String(++version)
    stored = { ...object, metadata: { ...object.metadata, resourceVersion } }
    return stored
  }
  return {
    faults,
    holder: () => (stored?.spec as { holderIdentity?: string } | undefined)?.holderIdentity,
    api: {
      async get() {
        check()
        return stored
      },
      async create(_resource: unknown, object: KubeObject) {
        check()
        if (stored !== undefined)
          throw new ApiError('exists', { status: 409, reason: 'AlreadyExists' })
        return put(object)
      },
      async update(_resource: unknown, object: KubeObject) {
        check()
        const isNewest = object.metadata.resourceVersion === stored?.metadata.resourceVersion
        if (!isNewest) throw new ApiError('conflict', { status: 409, reason: 'Conflict' })
        return put(object)
      },
    },
  }
}

const started: LeaderLease[] = []

/** After every outcome of a test: a lease that is not stopped keeps the process alive. */
afterEach(async () => {
  for (const lease of started.splice(0)) await lease.release().catch(() => undefined)
})

function aLease(store: ReturnType<typeof aStore>, identity: string, onGained = () => {}) {
  const changes: string[] = []
  const lease = new LeaderLease({
    api: store.api,
    namespace: 'gw-system',
    name: 'gw-operator',
    identity,
    random: Math.random,
    wallClock: Date.now,
    onGained() {
      changes.push('gained')
      onGained()
    },
    onLost: () => changes.push('lost'),
    timings: TIMINGS,
  })
  started.push(lease)
  lease.start()
  return { lease, changes }
}

test('of two that start at once one leads', async () => {
  const store = aStore()
  const leases = [aLease(store, 'one'), aLease(store, 'two')]
  await until('one leads', () => leases.some(({ lease }) => lease.mayWrite))
  const leaders = leases.filter(({ lease }) => lease.mayWrite)
  assert.equal(leaders.length, 1)
  for (const { lease } of leases) await lease.release()
})

test('a lease that is given back is taken at once', async () => {
  const store = aStore()
  const one = aLease(store, 'one')
  await until('one leads', () => one.lease.mayWrite)
  const two = aLease(store, 'two')
  await one.lease.release()
  assert.equal(one.lease.mayWrite, false)
  await until('two leads', () => two.lease.mayWrite)
  await two.lease.release()
  assert.equal(store.holder(), '')
})

test('a leader that cannot renew stops writing before another one begins, and never leads again', async () => {
  const store = aStore()
  const one = aLease(store, 'one')
  await until('one leads', () => one.lease.mayWrite)
  let both = false
  const two = aLease({ ...store, api: aStoreThatStays(store) }, 'two', () => {
    both = one.lease.mayWrite
  })
  store.faults.isAway = true
  await until('one has stopped', () => !one.lease.mayWrite)
  await until('one says so', () => one.changes.includes('lost'))
  await until('two leads', () => two.lease.mayWrite)
  assert.equal(both, false)
  store.faults.isAway = false
  assert.deepEqual(one.changes, ['gained', 'lost'])
  assert.equal(one.lease.mayWrite, false)
  await two.lease.release()
})

/** The same object, reached by another way that is not broken. */
function aStoreThatStays(store: ReturnType<typeof aStore>) {
  const reached = <Result>(call: () => Promise<Result>) => {
    const { isAway } = store.faults
    store.faults.isAway = false
    const result = call()
    store.faults.isAway = isAway
    return result
  }
  return {
    get: () => reached(() => store.api.get()),
    create: (resource: unknown, object: KubeObject) =>
      reached(() => store.api.create(resource, object)),
    update: (resource: unknown, object: KubeObject) =>
      reached(() => store.api.update(resource, object)),
  }
}
