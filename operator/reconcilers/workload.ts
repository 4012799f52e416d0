/** Applies the objects of a gateway: reads facts from the stores, with one apply per difference. */

import { hashOf } from '../../dataplane/delivery/signed.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { ApiClient } from '../kube/api.ts'
import { isRefusal } from '../kube/api-error.ts'
import {
  APPLIED_ANNOTATION,
  GENERATION_ANNOTATION,
  isOwnedBy,
  MANAGER,
  RESTORED_ANNOTATION,
} from '../kube/names.ts'
import { type KubeObject, keyOf, RESOURCES, type Resource } from '../kube/objects.ts'
import { type Child, childrenOf } from '../workload/children.ts'
import { covers } from '../workload/covers.ts'
import { type Edit, editorsOf } from '../workload/editors.ts'
import { hasGeneration, isExactly, restoring } from '../workload/exact.ts'
import { templateHashOf } from '../workload/made-with.ts'
import type { WorkloadOutcome } from '../workload/outcome.ts'
import { isRolling, isStuck, PROGRESS_DEADLINE_MINUTES } from '../workload/rolling.ts'
import type { WorkloadSettings } from '../workload/settings.ts'
import type { World } from '../world.ts'
import { LiveObjects } from './live-objects.ts'
import { handOverReplicas } from './replicas.ts'

export interface WorkloadOptions {
  readonly api: ApiClient
  readonly world: World
  readonly rolloutsMax: number
  readonly onApply?: (kind: string, result: 'applied' | 'deleted' | 'conflict') => void
  /** Other writers changed fields of the operator, which were reverted. */
  readonly onEdit?: (gateway: KubeObject, edit: Edit) => void
}

export class WorkloadReconciler {
  readonly #options: WorkloadOptions
  readonly #objects: LiveObjects
  /** Gateways whose Deployment is being written for new pods; afterwards the Deployment shows its progress. */
  readonly #starting = new Set<string>()

  constructor(options: WorkloadOptions) {
    this.#options = options
    this.#objects = new LiveObjects(options.world)
  }

  /** The last known Deployment, Service and HTTPRoute of the API server. */
  liveOf(gateway: KubeObject): {
    readonly deployment: KubeObject | undefined
    readonly service: KubeObject | undefined
    readonly httpRoute: KubeObject | undefined
  } {
    const of = (resource: Resource) => this.#objects.of(resource, keyOf(gateway))
    const { deployments, services, httpRoutes } = RESOURCES
    return { deployment: of(deployments), service: of(services), httpRoute: of(httpRoutes) }
  }

  async reconcile(
    settings: WorkloadSettings,
    trusted: Readonly<Record<string, string>>,
  ): Promise<WorkloadOutcome> {
    const { gateway } = settings
    const { deployment } = this.liveOf(gateway)
    const children = childrenOf(settings, trusted, deployment)
    let others: readonly string[] = []
    let routeConflict: string | undefined
    const refusals: unknown[] = []
    for (const child of children) {
      if (child.resource === RESOURCES.deployments) {
        others = this.#waitsFor(gateway, child, deployment)
        if (others.length > 0) continue
      }
      try {
        const conflict = await this.#reconcileChild(gateway, child)
        if (child.resource === RESOURCES.httpRoutes) routeConflict = conflict
        if (conflict !== undefined && child.isSpare === undefined) {
          return { kind: 'conflict', message: conflict }
        }
      } catch (error) {
        // A refused object does not stop the others.
        if (!isRefusal(error)) throw error
        refusals.push(error)
      } finally {
        this.#starting.delete(keyOf(gateway))
      }
    }
    if (refusals.length > 0) throw refusals[0]
    const more = routeConflict === undefined ? {} : { routeConflict }
    if (others.length === 0) return { kind: 'applied', ...more }
    const message =
      `The pods will be replaced when fewer than ${this.#options.rolloutsMax} other gateways are being rolled out. ` +
      `${others.length} are now, first ${others[0]}. If that lasts, see WorkloadAvailable there; ` +
      `a roll is waited for until no pod of it has come up for ${PROGRESS_DEADLINE_MINUTES} minutes.`
    return { kind: 'waiting', message, ...more }
  }

  /** Returns the obstructing object, if there is one. */
  async #reconcileChild(gateway: KubeObject, child: Child): Promise<string | undefined> {
    const { api, onApply } = this.#options
    const { resource, name, desired } = child
    const live = this.#objects.of(resource, `${gateway.metadata.namespace}/${name}`)
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
    if (live !== undefined && isAsApplied(resource, live, desired, hash)) return undefined
    const isTouched = known !== undefined && mustRestore(resource, known, { desired, hash })
    // The bookkeeping of writers is not watched.
    const isSame = known?.metadata.annotations?.[APPLIED_ANNOTATION] === hash
    const whole = isSame ? await this.#lookUp(resource, gateway, name) : known
    const before = isTouched ? await this.#restore(resource, whole ?? known, desired) : known
    if (resource === RESOURCES.deployments && before !== undefined) {
      await handOverReplicas(this.#options.api, before, desired)
    }
    const { initial } = child
    const applied = await this.#apply(resource, { desired, hash, before, isTouched, initial })
    onApply?.(resource.kind, 'applied')
    const isPutBack = hasGeneration(resource)
      ? generationOf(before) !== generationOf(whole)
      : versionOf(applied) !== versionOf(whole)
    if (isSame && whole !== undefined && (isPutBack || !covers(known.metadata, desired.metadata))) {
      const managers = editorsOf(whole, desired)
      this.#options.onEdit?.(gateway, { kind: resource.kind, name, managers })
    }
    return undefined
  }

  /** Removes foreign values from fields of the operator. Undefined if the object is gone. */
  async #restore(
    resource: Resource,
    known: KubeObject,
    desired: KubeObject,
  ): Promise<KubeObject | undefined> {
    const { api } = this.#options
    const { name, namespace, uid } = known.metadata
    // The watched copies of these are trimmed.
    const whole = hasGeneration(resource) ? await api.get(resource, { namespace, name }) : known
    if (whole === undefined) return undefined
    const { labels } = desired.metadata
    const place = { name, ...(namespace && { namespace }), ...(uid && { uid }) }
    const body = {
      metadata: { ...place, ...(labels && { labels }) },
      ...restoring(resource, whole, desired),
    }
    const restored = await api.apply(resource, body, { manager: MANAGER, merges: true })
    this.#objects.note(resource, restored)
    return restored
  }

  /** The object has the generation after this apply, so that any operator detects other edits. */
  async #apply(
    resource: Resource,
    applying: Applying,
    generation = nextGeneration(resource, applying),
  ): Promise<KubeObject> {
    const { desired, hash, before, isTouched, initial } = applying
    const wasTouched = isTouched || before?.metadata.annotations?.[RESTORED_ANNOTATION]
    const annotations = {
      ...desired.metadata.annotations,
      [APPLIED_ANNOTATION]: hash,
      ...(hasGeneration(resource) && { [GENERATION_ANNOTATION]: String(generation) }),
      ...(wasTouched && { [RESTORED_ANNOTATION]: 'true' }),
    }
    const { spec: shape } = desired
    const spec = before === undefined && isRecord(shape) ? { ...shape, ...initial } : shape
    const object = {
      ...desired,
      ...(spec !== undefined && { spec }),
      metadata: { ...desired.metadata, annotations },
    }
    const applied = await this.#options.api.apply(resource, object, { manager: MANAGER })
    this.#objects.note(resource, applied)
    const { generation: now } = applied.metadata
    // The spec did not need a change. Any other change is a foreign edit, and is handled when the watch delivers it.
    const isUnchanged = now !== undefined && now === before?.metadata.generation
    if (!hasGeneration(resource) || !isUnchanged || now === generation) return applied
    return await this.#apply(resource, applying, now)
  }

  /** Objects without the operator's label are not watched, but one may have the name. */
  async #lookUp(
    resource: Resource,
    { metadata }: KubeObject,
    name: string,
  ): Promise<KubeObject | undefined> {
    return await this.#options.api.get(resource, { namespace: metadata.namespace, name })
  }

  /**
   * The gateways that roll first: a new release of the operator changes every gateway at once, but an edit of a user
   * applies at once.
   */
  #waitsFor(
    gateway: KubeObject,
    { desired }: Child,
    live: KubeObject | undefined,
  ): readonly string[] {
    if (live === undefined || desired === undefined) return []
    const key = keyOf(gateway)
    if (templateHashOf(live) === templateHashOf(desired)) return []
    const seen = valueBelow(gateway, 'status', 'observedGeneration')
    const isOursToTime = seen === gateway.metadata.generation && !isComingOn(live)
    const others = this.#othersRolling(key)
    if (isOursToTime && others.length >= this.#options.rolloutsMax) return others
    this.#starting.add(key)
    return []
  }

  /** A gateway whose new pods do not start keeps its old ones, and must not block others forever. */
  #othersRolling(key: string): readonly string[] {
    const { deployments } = RESOURCES
    const rolling = new Set(this.#starting)
    for (const watched of this.#options.world.stores.deployments.list()) {
      const other = keyOf(watched)
      if (isComingOn(this.#objects.of(deployments, other) ?? watched)) rolling.add(other)
    }
    rolling.delete(key)
    return [...rolling].sort()
  }
}

interface Applying {
  readonly desired: KubeObject
  readonly hash: string
  /** The object before the write; absent: the apply creates it. */
  readonly before: KubeObject | undefined
  readonly isTouched: boolean
  readonly initial: Child['initial']
}

/** An apply of other content makes the next generation, and one of the same makes none. */
function nextGeneration(resource: Resource, { hash, before }: Applying): number {
  const { generation = 0, annotations } = before?.metadata ?? {}
  // For a Deployment an annotation counts as well, and this write changes one.
  if (resource === RESOURCES.deployments) return generation + 1
  return annotations?.[APPLIED_ANNOTATION] === hash ? generation : generation + 1
}

function generationOf(object: KubeObject | undefined): number | undefined {
  return object?.metadata.generation
}

function versionOf(object: KubeObject | undefined): string | undefined {
  return object?.metadata.resourceVersion
}

function isComingOn(deployment: KubeObject): boolean {
  return isRolling(deployment) && !isStuck(deployment)
}

function isGoing({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function isAsApplied(
  resource: Resource,
  live: KubeObject,
  desired: KubeObject,
  hash: string,
): boolean {
  if (live.metadata.annotations?.[APPLIED_ANNOTATION] !== hash) return false
  return isUntouched(resource, live, desired) && covers(live.metadata, desired.metadata)
}

/**
 * Whether a foreign writer has changed fields of the operator. An object that was once repaired with a patch keeps that
 * ownership: an apply leaves the fields of a patch, even if it no longer names them.
 */
function mustRestore(
  resource: Resource,
  live: KubeObject,
  { desired, hash }: Pick<Applying, 'desired' | 'hash'>,
): boolean {
  const { [APPLIED_ANNOTATION]: applied, [RESTORED_ANNOTATION]: restored } =
    live.metadata.annotations ?? {}
  const isPatched = restored !== undefined && applied !== hash
  return isPatched || !isUntouched(resource, live, desired)
}

/** Whether only the operator has written its fields. */
function isUntouched(resource: Resource, live: KubeObject, desired: KubeObject): boolean {
  if (!hasGeneration(resource)) return isExactly(resource, live, desired)
  const { annotations, generation } = live.metadata
  return annotations?.[GENERATION_ANNOTATION] === String(generation)
}
