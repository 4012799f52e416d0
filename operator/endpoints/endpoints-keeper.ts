/** The endpoints of all gateways: which Services each of them asks for, and where the lists go. */
import { type ServiceUpstream, serviceAt } from '../compile/service-upstreams.ts'
import type { PodTarget } from '../delivery/pusher.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'
import { EndpointsLane, type EndpointsLaneOptions } from './endpoints-lane.ts'
import { SliceWatches, type SliceWatchesOptions } from './slice-watches.ts'
import { endpointsIn } from './slices.ts'

export interface EndpointsKeeperOptions
  extends EndpointsLaneOptions,
    Pick<SliceWatchesOptions, 'timings' | 'onEnd'> {
  readonly api: EndpointsLaneOptions['api'] & SliceWatchesOptions['api']
}

interface Kept {
  readonly lane: EndpointsLane
  services: readonly ServiceUpstream[]
}

export class EndpointsKeeper {
  readonly #options: EndpointsKeeperOptions
  readonly #watches: SliceWatches
  readonly #kept = new Map<string, Kept>()

  constructor(options: EndpointsKeeperOptions) {
    this.#options = options
    this.#watches = new SliceWatches({
      ...options,
      onChange: (gateways) => {
        for (const gateway of gateways) this.#kept.get(gateway)?.lane.changed()
      },
    })
  }

  /** A gateway that asks for no pods costs nothing. */
  program(
    gateway: KubeObject,
    targets: readonly PodTarget[],
    services: readonly ServiceUpstream[] = [],
  ): void {
    const key = keyOf(gateway)
    const { namespace = '' } = gateway.metadata
    const known = this.#kept.get(key)
    if (known === undefined && services.length === 0) return
    const kept = known ?? { lane: this.#open(gateway), services }
    kept.services = services
    this.#kept.set(key, kept)
    const places = services.map(({ host }) => serviceAt(host, namespace))
    this.#watches.want(
      key,
      places.filter((place) => place !== undefined),
    )
    kept.lane.program(gateway, targets)
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

  #open(gateway: KubeObject): EndpointsLane {
    const { namespace = '' } = gateway.metadata
    const key = keyOf(gateway)
    const lists = () =>
      (this.#kept.get(key)?.services ?? []).flatMap(({ upstream, host, port }) => {
        const place = serviceAt(host, namespace)
        const slices = place && this.#watches.of(place)
        // While it is not known which there are, the pods go by what they have, or by the name.
        return slices === undefined
          ? []
          : [{ name: upstream, endpoints: endpointsIn(slices, port) }]
      })
    return new EndpointsLane(gateway, lists, this.#options)
  }
}
