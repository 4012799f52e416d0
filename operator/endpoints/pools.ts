/** Finds the ready pods of InferencePools. */
import { isIP } from 'node:net'
import { isRecord, listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { Selected } from './selected-watches.ts'
import type { SliceEndpoint } from './slices.ts'

const H2C = 'kubernetes.io/h2c'
export const ZONE_LABEL = 'topology.kubernetes.io/zone'

/** The reason why a pool upstream has no endpoints. */
export interface PoolFault {
  readonly upstream: string
  /** `namespace/name` of the pool. */
  readonly key: string
  readonly kind: 'missing' | 'unserved' | 'refused'
  /** The text of a refusal; otherwise empty. */
  readonly why: string
}

/** Why the pods of the pool cannot be used; undefined if they can. */
export function refusalOf(pool: KubeObject): string | undefined {
  if (valueBelow(pool, 'spec', 'appProtocol') !== H2C) return undefined
  return `appProtocol is ${H2C}, and the gateway calls models by HTTP/1.1. Write http, or remove it.`
}

/** The pods of the pool's namespace that have all of its labels. */
export function podsOfPool(pool: KubeObject): Selected {
  const labels = valueBelow(pool, 'spec', 'selector', 'matchLabels')
  const wanted = Object.entries(isRecord(labels) ? labels : {}).map(
    ([name, value]) => `${name}=${value}`,
  )
  return {
    resource: RESOURCES.pods,
    namespace: pool.metadata.namespace ?? '',
    labelSelector: wanted.sort().join(),
    trim: trimPoolPod,
  }
}

/** Keeps the parts of a pod that endpoints need. */
export function trimPoolPod({ metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, labels } = metadata
  const zone = labels?.[ZONE_LABEL]
  const ready = listBelow(status, 'conditions').find((one) => valueBelow(one, 'type') === 'Ready')
  const isReady = deletionTimestamp === undefined && valueBelow(ready, 'status') === 'True'
  const kept = { name, namespace, uid, resourceVersion } as KubeObject['metadata']
  return { metadata: kept, address: valueBelow(status, 'podIP'), isReady, zone }
}

/** Each port of each ready pod, sorted. */
export function endpointsOfPool(pool: KubeObject, pods: readonly KubeObject[]): SliceEndpoint[] {
  const ports = listBelow(pool, 'spec', 'targetPorts')
    .map((one) => valueBelow(one, 'number'))
    .filter((port) => typeof port === 'number')
  return pods
    .filter(({ isReady, address }) => isReady === true && isIP(String(address)) !== 0)
    .flatMap(({ metadata, address, zone }) =>
      ports.map((port) => ({
        id: `${metadata.uid ?? keyOf({ metadata })} ${port}`,
        address: String(address),
        port,
        ...(textOf(zone) !== undefined && { zone: String(zone) }),
      })),
    )
    .sort((one, other) => (one.id < other.id ? -1 : 1))
}
