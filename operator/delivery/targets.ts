/** Pods as they are told of by the API server, to where documents are pushed. */
import { PUSH_PORT } from '../../dataplane/delivery/signed.ts'
import { isObject, type KubeObject, valueBelow } from '../kube/objects.ts'
import { PUSH_ADDRESS_ANNOTATION } from '../workload/names.ts'
import type { Target } from './pusher.ts'

/** Pods that run and are not on their way out. `honoursAnnotation` is for tests, in which pods are processes of one host. */
export function targetsOf(pods: readonly KubeObject[], honoursAnnotation: boolean): Target[] {
  return pods.flatMap((pod) => {
    const { metadata, status } = pod
    const isRunning = valueBelow(status, 'phase') === 'Running'
    if (!isRunning || metadata.deletionTimestamp !== undefined) return []
    const annotated = honoursAnnotation
      ? metadata.annotations?.[PUSH_ADDRESS_ANNOTATION]
      : undefined
    const origin = annotated === undefined ? originOf(status) : `http://${annotated}`
    if (origin === undefined) return []
    return [{ uid: metadata.uid ?? '', name: metadata.name, origin, ready: isReady(pod) }]
  })
}

function originOf(status: unknown): string | undefined {
  const address = valueBelow(status, 'podIP')
  if (typeof address !== 'string' || address === '') return undefined
  return `http://${address.includes(':') ? `[${address}]` : address}:${PUSH_PORT}`
}

function isReady({ status }: KubeObject): boolean {
  const conditions = valueBelow(status, 'conditions')
  if (!Array.isArray(conditions)) return false
  return conditions.some(
    (condition) => isObject(condition) && condition.type === 'Ready' && condition.status === 'True',
  )
}
