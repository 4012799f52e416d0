/** Fills the queues: which gateways, keys and policies a change concerns. */
import { isSameKey, isSameSpec } from './compile/compilations.ts'
import { gatewayOf } from './compile/compile-keys.ts'
import { poolsNamedBy } from './compile/pool-upstreams.ts'
import { gatewayOfPolicy } from './compile/tenant-policies.ts'
import { type KubeObject, keyOf } from './kube/objects.ts'
import type { WorkQueue } from './kube/queue.ts'
import { gatewayOfChild, type World } from './world.ts'

type Queues = 'gateways' | 'keys' | 'policies' | 'pools'

/** A change only selects what to reconcile; the reconcile reads the present state. */
export function feed(
  { stores, gatewaysOfPool }: World,
  { gateways, keys, policies, pools }: Readonly<Record<Queues, WorkQueue>>,
): void {
  stores.gatewayConfigs.onChange((before, after) => {
    if (isSameSpec(before, after)) return
    addBoth(gateways, keyOf, [before, after])
    for (const one of [before, after])
      for (const pool of one === undefined ? [] : poolsNamedBy(one)) pools.add(pool)
  })
  stores.gatewayKeys.onChange((before, after) => {
    if (isSameKey(before, after)) return
    addBoth(gateways, gatewayOf, [before, after])
    if (after !== undefined) keys.add(keyOf(after))
  })
  stores.tenantPolicies.onChange((before, after) => {
    if (isSameSpec(before, after)) return
    addBoth(gateways, gatewayOfPolicy, [before, after])
    if (after !== undefined) policies.add(keyOf(after))
  })
  stores.inferencePools.onChange((before, after) => {
    const key = keyOf((after ?? before) as KubeObject)
    pools.add(key)
    if (isSameSpec(before, after)) return
    for (const gateway of gatewaysOfPool.get(key)) gateways.add(keyOf(gateway))
  })
  const children = [
    stores.pods,
    stores.deployments,
    stores.services,
    stores.endpointSlices,
    stores.configMaps,
    stores.serviceAccounts,
    stores.budgets,
    stores.networkPolicies,
    stores.autoscalers,
    stores.httpRoutes,
  ]
  for (const store of children) {
    store.onChange((before, after) => addBoth(gateways, gatewayOfChild, [before, after]))
  }
}

function addBoth(
  queue: WorkQueue,
  nameOf: (object: KubeObject) => string,
  objects: readonly (KubeObject | undefined)[],
): void {
  for (const object of objects) if (object !== undefined) queue.add(nameOf(object))
}
