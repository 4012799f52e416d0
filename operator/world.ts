/** The objects that the operator watches, and the gateways that a change concerns. */

import { gatewayOf } from './compile/compile-keys.ts'
import { poolsNamedBy } from './compile/pool-upstreams.ts'
import { gatewayOfPolicy } from './compile/tenant-policies.ts'
import type { ApiClient, Selection } from './kube/api.ts'
import { GATEWAY_LABEL, MANAGED_LABEL, MANAGER } from './kube/names.ts'
import { type KubeObject, keyOf, RESOURCES, type Resource } from './kube/objects.ts'
import { Reflector, type ReflectorOptions, type WatchEnd } from './kube/watch/reflector.ts'
import { type Index, ObjectStore } from './kube/watch/store.ts'
import { trimOf } from './kube/watch/trim.ts'

export type Watched = Exclude<
  keyof typeof RESOURCES,
  'secrets' | 'leases' | 'events' | 'replicaSets' | 'definitions' | 'webhookConfigurations'
>

export interface WorldOptions {
  readonly api: ApiClient
  /** Empty: the whole cluster. */
  readonly namespaces: readonly string[]
  readonly random: () => number
  readonly timings?: ReflectorOptions['timings']
  readonly onList?: (resource: string, changes: number) => void
  readonly onEnd?: (resource: string, ending: WatchEnd, error: unknown) => void
}

const OURS = `${MANAGED_LABEL}=${MANAGER}`

const SELECTIONS: Readonly<Record<Watched, Omit<Selection, 'namespace'>>> = {
  gatewayConfigs: {},
  gatewayKeys: {},
  tenantPolicies: {},
  pods: { labelSelector: GATEWAY_LABEL },
  deployments: { labelSelector: OURS },
  services: { labelSelector: OURS },
  // Kubernetes makes them, with the labels of the Service.
  endpointSlices: { labelSelector: GATEWAY_LABEL },
  configMaps: { labelSelector: OURS },
  serviceAccounts: { labelSelector: OURS },
  autoscalers: { labelSelector: OURS },
  // The generation of these kinds shows whether an object was changed.
  budgets: { labelSelector: OURS, metadataOnly: true },
  networkPolicies: { labelSelector: OURS, metadataOnly: true },
  httpRoutes: { labelSelector: OURS },
  inferencePools: {},
}

/** As metrics name them. */
export const WATCHED_NAMES = (Object.keys(SELECTIONS) as Watched[]).map(
  (kind) => RESOURCES[kind].plural,
)

/** Not every cluster serves these; they are watched while it does. */
const OPTIONAL = [
  'httpRoutes',
  'tenantPolicies',
  'inferencePools',
] as const satisfies readonly Watched[]
type Optional = (typeof OPTIONAL)[number]

/** Each of these may hold a MiB; a page is read as one text. */
const LARGE: readonly Resource[] = [RESOURCES.gatewayConfigs, RESOURCES.configMaps]
const LARGE_PAGE_LENGTH = 25

export class World {
  readonly stores: Readonly<Record<Watched, ObjectStore>>
  /** By `namespace/name` of the gateway. */
  readonly keysOf: Index
  readonly policiesOf: Index
  readonly podsOf: Index
  readonly endpointSlicesOf: Index
  /** By `namespace/name` of an InferencePool that they name. */
  readonly gatewaysOfPool: Index
  readonly #reflectors: Reflector[]
  readonly #options: WorldOptions
  readonly #optional: Record<Optional, readonly Reflector[]> = {
    httpRoutes: [],
    tenantPolicies: [],
    inferencePools: [],
  }

  constructor(options: WorldOptions) {
    this.#options = options
    const kinds = Object.keys(SELECTIONS) as Watched[]
    // Every kind is there: the keys are those of the record above.
    this.stores = Object.fromEntries(kinds.map((kind) => [kind, new ObjectStore()])) as Record<
      Watched,
      ObjectStore
    >
    this.keysOf = this.stores.gatewayKeys.indexBy((key) => [gatewayOf(key)])
    this.policiesOf = this.stores.tenantPolicies.indexBy((policy) => [gatewayOfPolicy(policy)])
    this.podsOf = this.stores.pods.indexBy((pod) => [gatewayOfChild(pod)])
    this.endpointSlicesOf = this.stores.endpointSlices.indexBy((slice) => [gatewayOfChild(slice)])
    this.gatewaysOfPool = this.stores.gatewayConfigs.indexBy(poolsNamedBy)
    this.#reflectors = kinds
      .filter((kind) => !OPTIONAL.some((optional) => optional === kind))
      .flatMap((kind) => this.#reflectorsOf(kind))
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start()
  }

  /** Resolves once they are known; a kind that is not served counts as known. */
  async watchOptional(kind: Optional, isServed: boolean): Promise<void> {
    const watching = this.#optional[kind]
    if (isServed === watching.length > 0) return
    for (const reflector of watching) void reflector.stop()
    this.#optional[kind] = isServed ? this.#reflectorsOf(kind) : []
    for (const reflector of this.#optional[kind]) reflector.start()
    await Promise.all(this.#optional[kind].map(({ synced }) => synced))
  }

  /** Whether each of them is known, if it is served. */
  knows(kind: Optional): boolean {
    return this.#optional[kind].every(({ isSynced }) => isSynced)
  }

  /** Set after the kinds of the cluster are known: unknown limits must not be taken for none. */
  async synced(): Promise<void> {
    const all = [...this.#reflectors, ...this.#optional.tenantPolicies]
    await Promise.all(all.map(({ synced }) => synced))
  }

  get isSynced(): boolean {
    return this.#reflectors.every(({ isSynced }) => isSynced)
  }

  /** The longest time since the API server's last answer to a watch. */
  get silentMs(): number {
    return Math.max(0, ...this.#reflectors.map(({ silentMs }) => silentMs))
  }

  async stop(): Promise<void> {
    const all = [...this.#reflectors, ...Object.values(this.#optional).flat()]
    await Promise.all(all.map((reflector) => reflector.stop()))
  }

  #reflectorsOf(kind: Watched): Reflector[] {
    const { namespaces } = this.#options
    const parts = namespaces.length === 0 ? [undefined] : namespaces
    return parts.map((namespace) => {
      // Several reflectors would replace each other's objects in one store.
      const store = this.#part(kind, parts)
      const selection = { ...SELECTIONS[kind], namespace }
      return reflectorOf(RESOURCES[kind], store, selection, this.#options)
    })
  }

  /** With one namespace or all of them the store itself; with several a part that is copied into it. */
  #part(kind: Watched, namespaces: readonly (string | undefined)[]): ObjectStore {
    const whole = this.stores[kind]
    if (namespaces.length === 1) return whole
    const part = new ObjectStore()
    part.onChange((before, after) => {
      if (after !== undefined) whole.put(after)
      else if (before !== undefined) whole.remove(keyOf(before))
    })
    return part
  }
}

function reflectorOf(
  resource: Resource,
  store: ObjectStore,
  selection: Selection,
  { api, random, timings, onList, onEnd }: WorldOptions,
): Reflector {
  return new Reflector({
    api,
    resource,
    selection,
    store,
    random,
    trim: trimOf(resource),
    ...(LARGE.includes(resource) && { pageLength: LARGE_PAGE_LENGTH }),
    onList: (changes) => onList?.(resource.plural, changes),
    onEnd: (ending, error) => onEnd?.(resource.plural, ending, error),
    ...(timings === undefined ? {} : { timings }),
  })
}

/** `namespace/name` of the gateway that owns one of our objects. */
export function gatewayOfChild({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.labels?.[GATEWAY_LABEL] ?? ''}`
}
