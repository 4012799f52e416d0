/**
 * The operator repeats its discovery of the cluster's kinds, and keeps the result while the cluster does not answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Discovery } from '../../operator/discovery.ts'

function aCluster(mayRoute = true) {
  const served = {
    groups: ['apps/v1'],
    kinds: ['HTTPRoute'],
    isAway: false,
    changes: 0,
    errors: 0,
  }
  const answer = <T>(value: T): Promise<T> =>
    served.isAway ? Promise.reject(new Error('away')) : Promise.resolve(value)
  const discovery = new Discovery({
    api: {
      read: (path) =>
        answer(
          path === '/apis'
            ? { groups: [{ versions: served.groups.map((groupVersion) => ({ groupVersion })) }] }
            : { resources: served.kinds.map((kind) => ({ kind })) },
        ),
    },
    mayRoute,
    onChange: () => void served.changes++,
    onError: () => void served.errors++,
  })
  return { served, discovery }
}

const NOTHING = {
  assignsUsers: false,
  hasHttpRoutes: false,
  hasTenantPolicies: false,
  hasInferencePools: false,
}

test('a group that appears later is found, and one without the kind is ignored', async () => {
  const { served, discovery } = aCluster()
  assert.throws(() => discovery.platform, /has not reported/)
  await discovery.look()
  assert.deepEqual(discovery.platform, NOTHING)
  served.groups = ['apps/v1', 'gateway.networking.k8s.io/v1', 'security.openshift.io/v1']
  served.kinds = ['Gateway']
  await discovery.look()
  assert.deepEqual(discovery.platform, { ...NOTHING, assignsUsers: true })
  served.kinds = ['Gateway', 'HTTPRoute']
  await discovery.look()
  await discovery.look()
  assert.deepEqual(discovery.platform, { ...NOTHING, assignsUsers: true, hasHttpRoutes: true })
  assert.equal(served.changes, 3)
})

test('the known result stays while the API server is unavailable', async () => {
  const { served, discovery } = aCluster()
  served.groups = ['gateway.networking.k8s.io/v1']
  await discovery.look()
  served.isAway = true
  await discovery.look()
  assert.equal(discovery.platform.hasHttpRoutes, true)
  assert.deepEqual([served.changes, served.errors], [1, 1])
})

test('without the rights for routes none is created', async () => {
  const { served, discovery } = aCluster(false)
  served.groups = ['gateway.networking.k8s.io/v1']
  await discovery.look()
  assert.equal(discovery.platform.hasHttpRoutes, false)
})
