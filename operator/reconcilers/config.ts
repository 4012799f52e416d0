/** Writes the documents of a gateway before a push, so that a sequence that a pod has seen never gets other content. */
import type { GatewayIdentity } from '../../dataplane/delivery/signed.ts'
import type { Compiled } from '../compile/compile.ts'
import type { Needs } from '../compile/needs.ts'
import {
  bundleData,
  type OutgoingConfiguration,
  type OutgoingKeys,
  readStored,
  type Stored,
  signConfiguration,
  signKeys,
} from '../delivery/bundle.ts'
import { isCounted, nextSequence } from '../delivery/sequences.ts'
import type { SigningKeys } from '../delivery/signing-keys.ts'
import type { ApiClient } from '../kube/api.ts'
import { isOwnedBy, MANAGER, metadataOf, names } from '../kube/names.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import { RUNS_WITH_ANNOTATION, runsWith } from '../workload/runs-with.ts'
import type { World } from '../world.ts'

export interface ConfigOptions {
  readonly api: ApiClient
  readonly world: World
  readonly signingKeys: () => SigningKeys
}

/** Sequences that pods have seen of other documents. */
export interface Floors {
  readonly configuration: number
  readonly keys: number
}

interface StoredObject {
  readonly uid: string | undefined
  /** Without contents, which are already in `stored`. */
  readonly object: KubeObject
  readonly stored: Stored
}

export class ForeignObjectError extends Error {
  constructor(kind: string, name: string) {
    super(`${kind} ${name} exists and does not belong to this gateway. Delete or rename it.`)
    this.name = 'ForeignObjectError'
  }
}

export class ConfigReconciler {
  readonly #options: ConfigOptions
  readonly #known = new Map<string, StoredObject>()

  constructor(options: ConfigOptions) {
    this.#options = options
  }

  /** The stored documents before a new decision. */
  async read(gateway: KubeObject): Promise<Stored> {
    const known = await this.#read(gateway, names.config(gateway.metadata.name))
    return known?.stored ?? {}
  }

  /** Returns the documents that the pods should have. */
  async reconcile(gateway: KubeObject, compiled: Compiled, floors: Floors): Promise<Stored> {
    const name = names.config(gateway.metadata.name)
    const known = await this.#read(gateway, name)
    const stored = known?.stored ?? {}
    const next = this.#next(gateway, compiled, { stored, floors })
    const isSame = next.configuration === stored.configuration && next.keys === stored.keys
    if (isSame && known !== undefined) return stored
    // A new object would block the deletion.
    if (known === undefined && gateway.metadata.deletionTimestamp !== undefined) return stored
    await this.#write(gateway, name, known, next)
    return next
  }

  /** Keeps what every ready pod enforces, for pods that start while a newer document is refused. */
  async keepLastKnownGood(
    gateway: KubeObject,
    configuration: OutgoingConfiguration,
  ): Promise<void> {
    const name = names.lastKnownGood(gateway.metadata.name)
    const known = await this.#read(gateway, name)
    const annotations = { [RUNS_WITH_ANNOTATION]: runsWith(gateway) }
    const isSame =
      known?.stored.configuration?.documentHash === configuration.documentHash &&
      known.object.metadata.annotations?.[RUNS_WITH_ANNOTATION] === runsWith(gateway)
    if (!isSame) await this.#write(gateway, name, known, { configuration }, annotations)
  }

  lastKnownGood(gateway: KubeObject): OutgoingConfiguration | undefined {
    const known = this.#peek(gateway, names.lastKnownGood(gateway.metadata.name))
    return known?.stored.configuration
  }

  /** The needs of the last known good document from the pods that run with it. */
  needsOfLastKnownGood(gateway: KubeObject): Needs | undefined {
    const known = this.#peek(gateway, names.lastKnownGood(gateway.metadata.name))
    const ranWith = known?.object.metadata.annotations?.[RUNS_WITH_ANNOTATION]
    return ranWith === runsWith(gateway) ? known?.stored.configuration?.needs : undefined
  }

  forget({ namespace, name }: { namespace: string; name: string }): void {
    this.#known.delete(`${namespace}/${names.config(name)}`)
    this.#known.delete(`${namespace}/${names.lastKnownGood(name)}`)
  }

  #next(
    gateway: KubeObject,
    compiled: Compiled,
    { stored, floors }: { stored: Stored; floors: Floors },
  ): Stored {
    const { uid = '', namespace = '', name, generation = 0 } = gateway.metadata
    const identity: GatewayIdentity = { uid, namespace, name }
    const keys = this.#options.signingKeys()
    const isKept = (document: OutgoingConfiguration | OutgoingKeys | undefined, floor: number) =>
      document !== undefined &&
      document.keyId === keys.keyId &&
      document.sequence > floor &&
      isCounted(document.sequence)
    const wanted = compiled.configuration
    const isSame = stored.configuration?.hash === wanted?.hash
    const configuration =
      wanted === undefined || (isSame && isKept(stored.configuration, floors.configuration))
        ? stored.configuration
        : signConfiguration(
            wanted.payload,
            {
              gateway: identity,
              sequence: nextSequence(stored.configuration?.sequence, floors.configuration),
              generation,
            },
            keys,
          )
    const newKeys =
      stored.keys?.hash === compiled.keysHash && isKept(stored.keys, floors.keys)
        ? stored.keys
        : signKeys(
            compiled.keys,
            {
              gateway: identity,
              sequence: nextSequence(stored.keys?.sequence, floors.keys),
              // A change needs a lower number before it, so a restart of the numbers sends the whole document.
              before: isCounted(stored.keys?.sequence ?? 0) ? stored.keys : undefined,
            },
            keys,
          )
    return { ...(configuration && { configuration }), keys: newKeys }
  }

  /** Before a write: an unwatched object may have the name. */
  async #read(gateway: KubeObject, name: string): Promise<StoredObject | undefined> {
    const { namespace, uid } = gateway.metadata
    const key = `${namespace}/${name}`
    const { api, world } = this.#options
    if (world.stores.configMaps.get(key) !== undefined) return this.#peek(gateway, name)
    const object = await api.get(RESOURCES.configMaps, { namespace, name })
    if (object !== undefined) return this.#take(gateway, object)
    if (this.#known.get(key)?.uid === uid) this.#known.delete(key)
    return undefined
  }

  /** The newer one of the watched object and the last one written here. */
  #peek(gateway: KubeObject, name: string): StoredObject | undefined {
    const key = `${gateway.metadata.namespace}/${name}`
    const remembered = this.#known.get(key)
    const known = remembered?.uid === gateway.metadata.uid ? remembered : undefined
    const cached = this.#options.world.stores.configMaps.get(key)
    if (cached === undefined) return known
    return known !== undefined && !isNewer(cached, known.object)
      ? known
      : this.#take(gateway, cached)
  }

  #take(gateway: KubeObject, object: KubeObject): StoredObject {
    const { uid = '' } = gateway.metadata
    if (!isOwnedBy(object, gateway)) throw new ForeignObjectError('ConfigMap', object.metadata.name)
    const remembered = this.#known.get(keyOf(object))
    const isKnown = remembered?.uid === uid && !isNewer(object, remembered.object)
    const stored = isKnown
      ? remembered.stored
      : readStored(object, uid, this.#options.signingKeys())
    const found = { uid, object: { metadata: object.metadata }, stored }
    this.#known.set(keyOf(object), found)
    return found
  }

  async #write(
    gateway: KubeObject,
    name: string,
    known: StoredObject | undefined,
    stored: Stored,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const { api } = this.#options
    const { resourceVersion } = known?.object.metadata ?? {}
    const metadata = { ...metadataOf(gateway, name), annotations }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...bundleData(stored) }
    const write = async () =>
      resourceVersion === undefined
        ? await api.create(RESOURCES.configMaps, object, MANAGER)
        : await api.update(
            RESOURCES.configMaps,
            { ...object, metadata: { ...metadata, resourceVersion } },
            MANAGER,
          )
    const written = await write().catch((error: unknown) => {
      // Another writer was faster, so the stored object must be read again first.
      this.#known.delete(`${gateway.metadata.namespace}/${name}`)
      throw error
    })
    const { uid } = gateway.metadata
    this.#known.set(keyOf(written), { uid, object: { metadata: written.metadata }, stored })
  }
}

/** The store may lag behind this process's last write. */
function isNewer(cached: KubeObject, known: KubeObject): boolean {
  if (cached.metadata.uid !== known.metadata.uid) return true
  const [one, other] = [cached, known].map(({ metadata }) => metadata.resourceVersion ?? '0')
  if (one === other) return false
  return BigInt(one ?? 0) > BigInt(other ?? 0)
}
