/** Keeps the present number of pods when an autoscaler takes over. */
import { isRecord, listBelow, valueBelow } from '../../dataplane/json/values.ts'
import type { ApiClient } from '../kube/api.ts'
import { MANAGER, REPLICAS_MANAGER } from '../kube/names.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'

/**
 * Server-side apply resets a field to its default if its only owner no longer names it: 20 pods would become one until
 * the autoscaler acts. So another manager takes over the number before ours releases it. Without force: if another
 * writer has scaled meanwhile, the number is no longer ours, and the next attempt does not change it.
 */
export async function handOverReplicas(
  api: Pick<ApiClient, 'get' | 'apply'>,
  known: KubeObject,
  desired: KubeObject,
): Promise<void> {
  if (valueBelow(desired, 'spec', 'replicas') !== undefined) return
  const { name, namespace } = known.metadata
  // The watched copies lack the bookkeeping of writers.
  const live = await api.get(RESOURCES.deployments, { name, namespace })
  if (live === undefined || !hasOnlyOurs(live)) return
  const { uid } = live.metadata
  const metadata = { name, ...(namespace && { namespace }), ...(uid && { uid }) }
  const replicas = valueBelow(live, 'spec', 'replicas')
  const options = { manager: REPLICAS_MANAGER, force: false }
  await api.apply(RESOURCES.deployments, { metadata, spec: { replicas } }, options)
}

function hasOnlyOurs(deployment: KubeObject): boolean {
  const owners = listBelow(deployment, 'metadata', 'managedFields')
    .filter((one) => isRecord(valueBelow(one, 'fieldsV1', 'f:spec', 'f:replicas')))
    .map((one) => `${valueBelow(one, 'manager')} ${valueBelow(one, 'operation')}`)
  return owners.length > 0 && owners.every((owner) => owner === `${MANAGER} Apply`)
}
