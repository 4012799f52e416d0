/** Makes the objects of a gateway what they should be: facts from the stores, one apply per difference. */
import { hashOf } from '../../dataplane/config/signed.ts'
import type { ApiClient } from '../api.ts'
import { isRefusal } from '../api-error.ts'
import {
  isObject,
  type KubeObject,
  keyOf,
  RESOURCES,
  type Resource,
  valueBelow,
} from '../objects.ts'
import { type Child, childrenOf } from '../workload/children.ts'
import { templateHashOf } from '../workload/made-with.ts'
import { APPLIED_ANNOTATION, isOwnedBy, MANAGER } from '../workload/names.ts'
import type { WorkloadSettings } from '../workload/settings.ts'
import type { Watched, World } from '../world.ts'

export type WorkloadOutcome =
  | { readonly kind: 'applied' }
  /** An object of that name is somebody else's. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** Others roll first. */
  | { readonly kind: 'waiting'; readonly message: string }

export interface WorkloadOptions {
  readonly api: ApiClient
  readonly world: World
  readonly rolloutsMax: number
  readonly onApply?: (kind: string, result: 'applied' | 'deleted' | 'conflict') => void
}

/** What the API server answered to the last apply: another generation means that somebody else wrote. */
interface Applied {
  readonly uid: string | undefined
  readonly generation: number | undefined
}

export class WorkloadReconciler {
  readonly #options: WorkloadOptions
  readonly #applied = new Map<string, Applied>()
  /** Gateways whose pods were told to be replaced, until they are. */
  readonly #rolling = new Set<string>()

  constructor(options: WorkloadOptions) {
    this.#options = options
  }

  async reconcile(
    settings: WorkloadSettings,
    trusted: Readonly<Record<string, string>>,
  ): Promise<WorkloadOutcome> {
    const { gateway } = settings
    const deployment = this.#live(RESOURCES.deployments, gateway, gateway.metadata.name)
    const children = childrenOf(settings, trusted, deployment)
    let isWaiting = false
    const refusals: unknown[] = []
    for (const child of children) {
      if (child.resource === RESOURCES.deployments && this.#mustWait(gateway, child, deployment)) {
        isWaiting = true
        continue
      }
      try {
        const conflict = await this.#reconcileChild(gateway, child)
        if (conflict !== undefined) return { kind: 'conflict', message: conflict }
      } catch (error) {
        // One object that is refused takes no other with it.
        if (!isRefusal(error)) throw error
        refusals.push(error)
      }
    }
    if (refusals.length > 0) throw refusals[0]
    if (!isWaiting) return { kind: 'applied' }
    const message = `The pods will be replaced when fewer than ${this.#options.rolloutsMax} other gateways are being rolled out.`
    return { kind: 'waiting', message }
  }

  forget(key: string): void {
    for (const id of this.#applied.keys()) {
      if (id.startsWith(`${key} `)) this.#applied.delete(id)
    }
    this.#rolling.delete(key)
  }

  /** Returns whose object stands in the way, if one does. */
  async #reconcileChild(gateway: KubeObject, child: Child): Promise<string | undefined> {
    const { api, onApply } = this.#options
    const { resource, name, desired } = child
    const live = this.#live(resource, gateway, name)
    if (desired === undefined) {
      if (live !== undefined && isOwnedBy(live, gateway) && !isGoing(live)) {
        await api.delete(resource, live)
        onApply?.(resource.kind, 'deleted')
      }
      return undefined
    }
    const known = live ?? (await this.#lookUp(resource, gateway, name))
    if (known !== undefined && !isOwnedBy(known, gateway)) {
      onApply?.(resource.kind, 'conflict')
      return `${resource.kind} ${name} exists and does not belong to this gateway. Delete or rename it, or rename the gateway.`
    }
    const hash = hashOf(desired)
    const id = idOf(gateway, resource, name)
    if (live !== undefined && isAsApplied(live, desired, hash, this.#applied.get(id))) {
      return undefined
    }
    const annotations = { ...desired.metadata.annotations, [APPLIED_ANNOTATION]: hash }
    const object = { ...desired, metadata: { ...desired.metadata, annotations } }
    if (known !== undefined && resource === RESOURCES.services) {
      await this.#restorePorts(known, desired)
    }
    const { metadata } = await api.apply(resource, object, { manager: MANAGER })
    this.#applied.set(id, { uid: metadata.uid, generation: metadata.generation })
    onApply?.(resource.kind, 'applied')
    return undefined
  }

  /** Server-side apply would add ours to what somebody wrote into the list, and two of one name are refused. */
  async #restorePorts(live: KubeObject, { metadata, spec }: KubeObject): Promise<void> {
    const ports = valueBelow(spec, 'ports')
    if (covers(valueBelow(live, 'spec', 'ports'), ports)) return
    const { name, namespace } = metadata
    const body = { metadata: { name, ...(namespace && { namespace }) }, spec: { ports } }
    await this.#options.api.apply(RESOURCES.services, body, { manager: MANAGER, merges: true })
  }

  /** Objects without our label are not watched; one may have the name all the same. */
  async #lookUp(
    resource: Resource,
    { metadata }: KubeObject,
    name: string,
  ): Promise<KubeObject | undefined> {
    return await this.#options.api.get(resource, { namespace: metadata.namespace, name })
  }

  #live(resource: Resource, { metadata }: KubeObject, name: string): KubeObject | undefined {
    const kind = (Object.keys(RESOURCES) as Watched[]).find((one) => RESOURCES[one] === resource)
    return kind && this.#options.world.stores[kind].get(`${metadata.namespace}/${name}`)
  }

  /** A new release of the operator changes every gateway at once; what a user changed goes at once. */
  #mustWait(gateway: KubeObject, { desired }: Child, live: KubeObject | undefined): boolean {
    if (live === undefined || desired === undefined) return false
    const key = keyOf(gateway)
    if (templateHashOf(live) === templateHashOf(desired)) {
      if (!isRolling(live)) this.#rolling.delete(key)
      return false
    }
    const seen = valueBelow(gateway, 'status', 'observedGeneration')
    const isOursToTime = seen === gateway.metadata.generation && !this.#rolling.has(key)
    if (isOursToTime && this.#othersRolling(key) >= this.#options.rolloutsMax) return true
    this.#rolling.add(key)
    return false
  }

  #othersRolling(key: string): number {
    const { deployments } = this.#options.world.stores
    const rolling = new Set(this.#rolling)
    for (const deployment of deployments.list()) {
      if (isRolling(deployment)) rolling.add(keyOf(deployment))
    }
    rolling.delete(key)
    return rolling.size
  }
}

function idOf({ metadata }: KubeObject, resource: Resource, name: string): string {
  return `${metadata.namespace}/${metadata.name} ${resource.plural}/${name}`
}

function isGoing({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function isAsApplied(
  live: KubeObject,
  desired: KubeObject,
  hash: string,
  applied: Applied | undefined,
): boolean {
  const { annotations, generation, uid } = live.metadata
  if (annotations?.[APPLIED_ANNOTATION] !== hash) return false
  if (generation === undefined) return covers(live, desired)
  return applied === undefined || applied.uid !== uid || (applied.generation ?? 0) >= generation
}

/** Whether all that is desired is there; what the API server added is none of our business. */
export function covers(live: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    if (!Array.isArray(live) || live.length !== desired.length) return false
    return desired.every((entry, index) => covers(live[index], entry))
  }
  if (isObject(desired)) {
    return (
      isObject(live) && Object.entries(desired).every(([name, value]) => covers(live[name], value))
    )
  }
  return live === desired
}

export function isRolling(deployment: KubeObject): boolean {
  const observed = valueBelow(deployment, 'status', 'observedGeneration')
  if (observed !== deployment.metadata.generation) return true
  const count = (...path: string[]) => Number(valueBelow(deployment, ...path) ?? 0)
  const replicas = count('status', 'replicas')
  return (
    count('status', 'updatedReplicas') < count('spec', 'replicas') ||
    replicas > count('status', 'updatedReplicas')
  )
}
