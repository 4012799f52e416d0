/** The upstreams whose endpoints are the pods of an InferencePool, as the configuration names it. */
import { listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'
import { mayBeEmpty } from './service-upstreams.ts'

export interface PoolUpstream {
  readonly upstream: string
  readonly name: string
  /** Absent: the namespace of the gateway. */
  readonly namespace?: string
  /** Whether its servers may be scaled to zero, so that requests wait for one. */
  readonly mayBeEmpty?: true
}

export function poolUpstreamsOf(gw: unknown): PoolUpstream[] {
  return listBelow(gw, 'upstreams').flatMap((one) => {
    const upstream = textOf(valueBelow(one, 'name'))
    const name = textOf(valueBelow(one, 'pool', 'name'))
    const namespace = textOf(valueBelow(one, 'pool', 'namespace'))
    if (valueBelow(one, 'endpoints') !== 'pool') return []
    if (upstream === undefined || name === undefined) return []
    return [{ upstream, name, ...(namespace !== undefined && { namespace }), ...mayBeEmpty(one) }]
  })
}

/** `namespace/name` of each pool that a gateway names. */
export function poolsNamedBy(gateway: KubeObject): string[] {
  const { namespace = '' } = gateway.metadata
  const keys = poolUpstreamsOf(gateway.gw).map((pool) => poolKeyOf(pool, namespace))
  return [...new Set(keys)]
}

/** `own`: the namespace of the gateway. */
export function poolKeyOf({ name, namespace }: PoolUpstream, own: string): string {
  return keyOf({ metadata: { name, namespace: namespace ?? own } })
}

/** Whether an upstream prefers endpoints by their zone, so that zones must be sent. */
export function prefersZone(gw: unknown): boolean {
  return listBelow(gw, 'upstreams').some((one) => valueBelow(one, 'prefer_zone') === true)
}
