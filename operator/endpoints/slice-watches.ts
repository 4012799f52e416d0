/** Watches the EndpointSlices of the Services that configurations name, and of no others. */
import type { ServicePlace } from '../compile/service-upstreams.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'
import { Reflector, type ReflectorOptions } from '../kube/reflector.ts'
import { ObjectStore } from '../kube/store.ts'
import { trimSlice } from './slices.ts'

export interface SliceWatchesOptions extends Pick<ReflectorOptions, 'api' | 'random' | 'timings'> {
  /** These gateways have other endpoints now. */
  readonly onChange: (gateways: Iterable<string>) => void
  readonly onEnd?: ReflectorOptions['onEnd']
}

interface Watch {
  readonly store: ObjectStore
  readonly reflector: Reflector
  readonly gateways: Set<string>
}

const keyOf = ({ namespace, name }: ServicePlace) => `${namespace}/${name}`

export class SliceWatches {
  readonly #options: SliceWatchesOptions
  readonly #watches = new Map<string, Watch>()

  constructor(options: SliceWatchesOptions) {
    this.#options = options
  }

  /** A Service that no gateway names any more is not watched any more. */
  want(gateway: string, places: readonly ServicePlace[]): void {
    const wanted = new Set(places.map(keyOf))
    for (const place of places) this.#open(place).gateways.add(gateway)
    for (const [key, { gateways, reflector }] of this.#watches) {
      if (wanted.has(key) || !gateways.delete(gateway) || gateways.size > 0) continue
      void reflector.stop()
      this.#watches.delete(key)
    }
  }

  /** undefined while it is not known which there are. */
  of(place: ServicePlace): readonly KubeObject[] | undefined {
    const watch = this.#watches.get(keyOf(place))
    return watch?.reflector.isSynced ? watch.store.list() : undefined
  }

  stop(): void {
    for (const { reflector } of this.#watches.values()) void reflector.stop()
    this.#watches.clear()
  }

  #open(place: ServicePlace): Watch {
    const known = this.#watches.get(keyOf(place))
    if (known !== undefined) return known
    const { api, random, timings, onChange, onEnd } = this.#options
    const { namespace, name } = place
    const store = new ObjectStore()
    const gateways = new Set<string>()
    const reflector = new Reflector({
      api,
      resource: RESOURCES.endpointSlices,
      selection: { namespace, labelSelector: `kubernetes.io/service-name=${name}` },
      store,
      random,
      trim: trimSlice,
      ...(timings && { timings }),
      ...(onEnd && { onEnd }),
    })
    store.onChange(() => onChange(gateways))
    // A Service without a slice is known, too.
    void reflector.synced.then(() => onChange(gateways))
    reflector.start()
    const watch = { store, reflector, gateways }
    this.#watches.set(keyOf(place), watch)
    return watch
  }
}
