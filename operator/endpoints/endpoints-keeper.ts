/** The endpoints of all gateways: what each gateway needs, the watches, and the delivery of the lists. */

import type { Needs } from '../compile/needs.ts'
import { type PoolUpstream, poolKeyOf } from '../compile/pool-upstreams.ts'
import { type ServiceUpstream, serviceAt } from '../compile/service-upstreams.ts'
import type { PodTarget } from '../delivery/pusher.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'
import type { World } from '../world.ts'
import { EndpointsLane, type EndpointsLaneOptions, type Lists } from './endpoints-lane.ts'
import { endpointsOfPool, type PoolFault, podsOfPool, refusalOf, ZONE_LABEL } from './pools.ts'
import { type Selected, SelectedWatches, type SelectedWatchesOptions } from './selected-watches.ts'
import { endpointsIn, type SliceEndpoint, slicesOf } from './slices.ts'
import {
  type EmptyUpstream,
  type EndpointSources,
  emptyOnes,
  type PoolState,
  poolFaultOf,
  type ServiceFault,
  serviceFaultOf,
  servicesOf,
} from './troubles.ts'

export interface EndpointsKeeperOptions
  extends Omit<EndpointsLaneOptions, 'onTrouble'>,
    Pick<SelectedWatchesOptions, 'timings' | 'onEnd'> {
  readonly api: EndpointsLaneOptions['api'] & SelectedWatchesOptions['api']
  /** A pool by `namespace/name`; `unknown` before the first list, `unserved` if pools cannot be read. */
  readonly poolOf: (key: string) => PoolState
  /** The zones of the pods of a gateway, by their names. */
  readonly zonesOf: (gateway: string) => Readonly<Record<string, string>>
  /** Called when the trouble with the endpoints of this gateway changes. */
  readonly onTrouble: (gateway: string) => void
}

type Sources = Pick<Needs, 'services' | 'pools' | 'prefersZone'>

interface Kept {
  readonly lane: EndpointsLane
  gateway: KubeObject
  sources: Sources
  /** The trouble in the last report, as JSON. */
  reported: string
}

/** The reasons why endpoints of a gateway are missing. */
export interface EndpointsTrouble {
  readonly pools: readonly PoolFault[]
  readonly services: readonly ServiceFault[]
  readonly empty: readonly EmptyUpstream[]
  /** Why the newest list is not active. */
  readonly refused?: string | undefined
}

export class EndpointsKeeper {
  readonly #options: EndpointsKeeperOptions
  readonly #watches: SelectedWatches
  readonly #kept = new Map<string, Kept>()

  constructor(options: EndpointsKeeperOptions) {
    this.#options = options
    this.#watches = new SelectedWatches({
      ...options,
      onChange: (gateways) => {
        for (const gateway of gateways) this.#changed(gateway)
      },
    })
  }

  /** A gateway without pod endpoints needs no watch. */
  program(gateway: KubeObject, targets: readonly PodTarget[], sources: Sources = {}): void {
    const key = keyOf(gateway)
    const known = this.#kept.get(key)
    const isAsking = sources.services !== undefined || sources.pools !== undefined
    if (known === undefined && !isAsking) return
    const kept = known ?? { lane: this.#open(gateway), gateway, sources, reported: '' }
    kept.gateway = gateway
    kept.sources = sources
    this.#kept.set(key, kept)
    const { namespace = '' } = gateway.metadata
    const places = (sources.services ?? []).map(({ host }) => serviceAt(host, namespace))
    this.#watches.want(key, [
      ...places.filter((place) => place !== undefined).map(slicesOf),
      ...places.flatMap((place) => (place === undefined ? [] : [servicesOf(place.namespace)])),
      ...(sources.pools ?? []).flatMap((pool) => this.#podsOf(pool, namespace) ?? []),
    ])
    kept.lane.program(gateway, targets)
  }

  troubleOf(gateway: KubeObject): EndpointsTrouble {
    const { namespace = '' } = gateway.metadata
    const kept = this.#kept.get(keyOf(gateway))
    const { services = [], pools = [] } = kept?.sources ?? {}
    const known = this.#knownTo(namespace)
    const poolFaults = pools.map((pool) => poolFaultOf(pool, namespace, known))
    const serviceFaults = services.map((one) => serviceFaultOf(one, namespace, known))
    const trouble = {
      pools: poolFaults.filter((fault) => fault !== undefined),
      services: serviceFaults.filter((fault) => fault !== undefined),
      empty: emptyOnes(services, pools, namespace, known),
      refused: kept?.lane.refused,
    }
    if (kept !== undefined) kept.reported = JSON.stringify(trouble)
    return trouble
  }

  forget(key: string): void {
    this.#watches.want(key, [])
    this.#kept.get(key)?.lane.close()
    this.#kept.delete(key)
  }

  stop(): void {
    for (const { lane } of this.#kept.values()) lane.close()
    this.#kept.clear()
    this.#watches.stop()
  }

  #changed(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    kept.lane.changed()
    const { reported } = kept
    if (JSON.stringify(this.troubleOf(kept.gateway)) !== reported) this.#options.onTrouble(key)
  }

  #knownTo(own: string): EndpointSources {
    return {
      services: (namespace) => this.#watches.of(servicesOf(namespace)),
      slices: (place) => this.#watches.of(slicesOf(place)),
      pool: (key) => this.#options.poolOf(key),
      ofService: (upstream) => this.#ofService(upstream, own),
      ofPool: (upstream) => this.#ofPool(upstream, own),
    }
  }

  #open(gateway: KubeObject): EndpointsLane {
    const key = keyOf(gateway)
    return new EndpointsLane(gateway, () => this.#listsOf(gateway), {
      ...this.#options,
      onTrouble: () => this.#options.onTrouble(key),
    })
  }

  #listsOf(gateway: KubeObject): Lists {
    const { namespace = '' } = gateway.metadata
    const key = keyOf(gateway)
    const { services = [], pools = [], prefersZone } = this.#kept.get(key)?.sources ?? {}
    const found = [
      ...services.map((one) => ({ one, endpoints: this.#ofService(one, namespace) })),
      ...pools.map((one) => ({ one, endpoints: this.#ofPool(one, namespace) })),
    ].map(({ one, endpoints }) => ({ name: one.upstream, endpoints }))
    const unknown = found.filter(({ endpoints }) => endpoints === undefined)
    return {
      upstreams: found.flatMap(({ name, endpoints }) =>
        endpoints === undefined ? [] : [{ name, endpoints: endpoints.map(shaped(prefersZone)) }],
      ),
      ...(unknown.length > 0 && { unknown: unknown.map(({ name }) => name) }),
      ...(prefersZone && { zones: this.#options.zonesOf(key) }),
    }
  }

  /** undefined while the pods are not known yet, or for a name outside the cluster. */
  #ofService({ host, port }: ServiceUpstream, own: string): SliceEndpoint[] | undefined {
    const place = serviceAt(host, own)
    const slices = place && this.#watches.of(slicesOf(place))
    return slices && endpointsIn(slices, port)
  }

  #ofPool(upstream: PoolUpstream, own: string): SliceEndpoint[] | undefined {
    const pool = this.#options.poolOf(poolKeyOf(upstream, own))
    if (pool === 'unknown' || pool === 'unserved') return undefined
    if (pool === 'missing' || refusalOf(pool) !== undefined) return []
    const pods = this.#watches.of(podsOfPool(pool))
    return pods && endpointsOfPool(pool, pods)
  }

  #podsOf(upstream: PoolUpstream, own: string): Selected | undefined {
    const pool = this.#options.poolOf(poolKeyOf(upstream, own))
    return typeof pool === 'string' || refusalOf(pool) !== undefined ? undefined : podsOfPool(pool)
  }
}

/** Zones are sent only if an upstream uses them, because otherwise they would change the list of the same pods. */
function shaped(prefersZone: true | undefined) {
  return ({ zone, ...endpoint }: SliceEndpoint): SliceEndpoint =>
    prefersZone && zone !== undefined ? { ...endpoint, zone } : endpoint
}

/**
 * The zones of the pods of a gateway, by their names: by their label from Kubernetes 1.35 on, otherwise by their
 * Service.
 */
export function zonesOf(
  { podsOf, endpointSlicesOf }: Pick<World, 'podsOf' | 'endpointSlicesOf'>,
  gateway: string,
): Record<string, string> {
  const slices = endpointSlicesOf.get(gateway).flatMap(({ zones }) => Object.entries(zones ?? {}))
  const labels = podsOf.get(gateway).flatMap(({ metadata }) => {
    const zone = metadata.labels?.[ZONE_LABEL]
    return zone === undefined ? [] : [[metadata.name, zone] as const]
  })
  const sorted = [...slices, ...labels].sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(sorted)
}
