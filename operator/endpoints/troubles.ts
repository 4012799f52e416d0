/** Why upstreams lack endpoints: a missing Service or pool, or one without a ready pod. */
import { Suggestions } from '../../dataplane/config/judgement/nearest.ts'
import { type PoolUpstream, poolKeyOf } from '../compile/pool-upstreams.ts'
import { type ServicePlace, type ServiceUpstream, serviceAt } from '../compile/service-upstreams.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'
import { type PoolFault, refusalOf } from './pools.ts'
import type { Selected } from './selected-watches.ts'
import type { SliceEndpoint } from './slices.ts'

export type PoolState = KubeObject | 'missing' | 'unknown' | 'unserved'

/** A missing Service that an upstream names. */
export interface ServiceFault {
  readonly upstream: string
  /** `namespace/name`. */
  readonly key: string
  /** A Service of that namespace with a similar name. */
  readonly nearest?: string | undefined
}

/** An upstream that cannot get requests. */
export interface EmptyUpstream {
  readonly upstream: string
  /** `Service models/llama`. */
  readonly source: string
}

/** The state of the cluster as far as it is known; undefined: not yet, or not permitted. */
export interface EndpointSources {
  services(namespace: string): readonly KubeObject[] | undefined
  slices(place: ServicePlace): readonly KubeObject[] | undefined
  pool(key: string): PoolState
  ofService(upstream: ServiceUpstream): readonly SliceEndpoint[] | undefined
  ofPool(upstream: PoolUpstream): readonly SliceEndpoint[] | undefined
}

/** All Services of a namespace, to suggest a name. */
export function servicesOf(namespace: string): Selected {
  return { resource: RESOURCES.services, namespace, labelSelector: '', trim: nameOnly }
}

function nameOnly({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata
  return { metadata: { name, namespace, uid, resourceVersion } as KubeObject['metadata'] }
}

/** `own`: the namespace of the gateway. */
export function serviceFaultOf(
  { upstream, host }: ServiceUpstream,
  own: string,
  known: EndpointSources,
): ServiceFault | undefined {
  const place = serviceAt(host, own)
  const services = place && known.services(place.namespace)
  if (place === undefined || services === undefined) return undefined
  // Manually created endpoints need no Service.
  if (known.slices(place)?.length !== 0) return undefined
  const names = services.map(({ metadata }) => metadata.name)
  if (names.includes(place.name)) return undefined
  const nearest = new Suggestions().nearest(place.name, names.sort())
  return { upstream, key: `${place.namespace}/${place.name}`, nearest }
}

export function poolFaultOf(
  pool: PoolUpstream,
  own: string,
  known: Pick<EndpointSources, 'pool'>,
): PoolFault | undefined {
  const { upstream } = pool
  const key = poolKeyOf(pool, own)
  const state = known.pool(key)
  if (state === 'unserved' || state === 'missing') return { upstream, key, kind: state, why: '' }
  if (state === 'unknown') return undefined
  const why = refusalOf(state)
  return why === undefined ? undefined : { upstream, key, kind: 'refused', why }
}

/** An upstream that may scale to zero has no fault without them. */
export function emptyOnes(
  services: readonly ServiceUpstream[],
  pools: readonly PoolUpstream[],
  own: string,
  known: EndpointSources,
): EmptyUpstream[] {
  const found = [
    ...services.map((one) => {
      const { namespace = own, name = one.host } = serviceAt(one.host, own) ?? {}
      const source = `Service ${namespace}/${name}`
      return { one, source, endpoints: known.ofService(one) }
    }),
    ...pools.map((one) => {
      const source = `InferencePool ${poolKeyOf(one, own)}`
      return { one, source, endpoints: known.ofPool(one) }
    }),
  ]
  return found
    .filter(({ one, endpoints }) => endpoints?.length === 0 && !one.mayBeEmpty)
    .map(({ one: { upstream }, source }) => ({ upstream, source }))
}
