/**
 * When the status of a gateway is written: after a change of the facts, and after another client's
 * edit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import type { ApiClient } from '../../operator/kube/api.ts'
import type { Events } from '../../operator/kube/events.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { StatusReconciler } from '../../operator/reconcilers/status.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { factsOf, NOW } from './a-status.ts'

/** An API server that accepts every status, and a reconciler that writes there. */
function aWriter() {
  const written: unknown[] = []
  let version = 10
  const api = {
    apply: async (_resource: unknown, { status }: KubeObject) => {
      written.push(status)
      return { metadata: { name: 'production', resourceVersion: String(++version) } }
    },
  } as unknown as ApiClient
  const events = { tellOfChanges: () => undefined } as unknown as Events
  const wallClock = () => Date.parse(NOW)
  const reconciler = new StatusReconciler({ api, events, wallClock, intervalMs: 0 })
  const reconcile = (status: unknown, resourceVersion: number) => {
    const metadata = { resourceVersion: String(resourceVersion) }
    return reconciler.reconcile(factsOf({ gateway: { ...aGateway({ metadata }), status } }))
  }
  return { written, reconcile }
}

test('a status changed by another writer is written again; one that the watch shows late is not', async () => {
  const { written, reconcile } = aWriter()
  await reconcile({}, 10)
  assert.equal(written.length, 1)
  const [ours] = written
  await reconcile({}, 10)
  await reconcile(ours, 11)
  await reconcile(ours, 12)
  assert.equal(written.length, 1)
  const edited = { ...GatewayStatus.parse(ours), activeHash: 'forged' }
  await reconcile(edited, 13)
  assert.equal(written.length, 2)
  assert.deepEqual(written[1], ours)
})
