/** Watches the sources of endpoints, by label and namespace, while a gateway needs them. */
import type { KubeObject, Resource } from '../kube/objects.ts'
import { Reflector, type ReflectorOptions } from '../kube/watch/reflector.ts'
import { ObjectStore } from '../kube/watch/store.ts'

export interface Selected {
  readonly resource: Resource
  readonly namespace: string
  readonly labelSelector: string
  readonly trim: (object: KubeObject) => KubeObject
}

export interface SelectedWatchesOptions
  extends Pick<ReflectorOptions, 'api' | 'random' | 'timings'> {
  /** These gateways have new endpoints. */
  readonly onChange: (gateways: Iterable<string>) => void
  readonly onEnd?: ReflectorOptions['onEnd']
}

interface Watch {
  readonly store: ObjectStore
  readonly reflector: Reflector
  readonly gateways: Set<string>
}

const keyOf = ({ resource, namespace, labelSelector }: Selected) =>
  `${resource.plural} ${namespace} ${labelSelector}`

export class SelectedWatches {
  readonly #options: SelectedWatchesOptions
  readonly #watches = new Map<string, Watch>()

  constructor(options: SelectedWatchesOptions) {
    this.#options = options
  }

  /** Stops watching objects that no gateway needs. */
  want(gateway: string, selections: readonly Selected[]): void {
    const wanted = new Set(selections.map(keyOf))
    for (const one of selections) this.#open(one).gateways.add(gateway)
    for (const [key, { gateways, reflector }] of this.#watches) {
      if (wanted.has(key) || !gateways.delete(gateway) || gateways.size > 0) continue
      void reflector.stop()
      this.#watches.delete(key)
    }
  }

  /** undefined while they are not known yet. */
  of(selected: Selected): readonly KubeObject[] | undefined {
    const watch = this.#watches.get(keyOf(selected))
    return watch?.reflector.isSynced ? watch.store.list() : undefined
  }

  stop(): void {
    for (const { reflector } of this.#watches.values()) void reflector.stop()
    this.#watches.clear()
  }

  #open(selected: Selected): Watch {
    const known = this.#watches.get(keyOf(selected))
    if (known !== undefined) return known
    const { api, random, timings, onChange, onEnd } = this.#options
    const { resource, namespace, labelSelector, trim } = selected
    const store = new ObjectStore()
    const gateways = new Set<string>()
    const reflector = new Reflector({
      ...{ api, resource, store, random, trim },
      selection: { namespace, labelSelector },
      ...(timings && { timings }),
      ...(onEnd && { onEnd }),
    })
    store.onChange(() => onChange(gateways))
    // An empty list is a change, too.
    void reflector.synced.then(() => onChange(gateways))
    reflector.start()
    const watch = { store, reflector, gateways }
    this.#watches.set(keyOf(selected), watch)
    return watch
  }
}
