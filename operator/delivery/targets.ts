/** Turns the pods of the API server into targets for pushes. */

import { PUSH_PORT } from '../../dataplane/delivery/signed.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { PodTarget } from './pusher.ts'

/** How the operator reaches pods, and whether Services do. */
export interface PodNetwork {
  /** The address of a pod for documents; undefined while it has none. */
  originOf(pod: KubeObject): string | undefined
  readonly hasServices: boolean
}

/** Every pod accepts documents at the push port of its cluster address. */
export const CLUSTER_NETWORK: PodNetwork = {
  originOf({ status }) {
    const address = valueBelow(status, 'podIP')
    if (typeof address !== 'string' || address === '') return undefined
    return `http://${address.includes(':') ? `[${address}]` : address}:${PUSH_PORT}`
  },
  hasServices: true,
}

/** Leaves out pods that do not run and pods that are being deleted. */
export function targetsOf(
  pods: readonly KubeObject[],
  originOf: PodNetwork['originOf'],
): PodTarget[] {
  return pods.flatMap((pod) => {
    const { metadata, status } = pod
    const isRunning = valueBelow(status, 'phase') === 'Running'
    if (!isRunning || metadata.deletionTimestamp !== undefined) return []
    const origin = originOf(pod)
    if (origin === undefined) return []
    return [{ uid: metadata.uid ?? '', name: metadata.name, origin, ready: isReady(pod) }]
  })
}

function isReady({ status }: KubeObject): boolean {
  const conditions = valueBelow(status, 'conditions')
  if (!Array.isArray(conditions)) return false
  return conditions.some(
    (condition) => isRecord(condition) && condition.type === 'Ready' && condition.status === 'True',
  )
}
