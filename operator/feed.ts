/** Fills the queues: which gateways, keys and policies a change concerns. */
import { isSameKey, isSameSpec } from './compile/compilations.ts'
import { gatewayOf } from './compile/compile-keys.ts'
import { gatewayOfPolicy } from './compile/tenant-policies.ts'
import { type KubeObject, keyOf } from './kube/objects.ts'
import type { WorkQueue } from './kube/queue.ts'
import { gatewayOfChild, type World } from './world.ts'

/** Levels, not edges: what changed only says where to look. */
export function feed(
  { stores }: World,
  { gateways, keys, policies }: Readonly<Record<'gateways' | 'keys' | 'policies', WorkQueue>>,
): void {
  stores.gatewayConfigs.onChange((before, after) => {
    if (!isSameSpec(before, after)) addBoth(gateways, keyOf, [before, after])
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
