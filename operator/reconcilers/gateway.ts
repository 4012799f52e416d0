/** Reconciles one gateway: compiles it, writes and sends the documents, applies the workload, writes the status. */

import { valueBelow } from '../../dataplane/json/values.ts'
import type { Compilations } from '../compile/compilations.ts'
import type { Compiled } from '../compile/compile.ts'
import { joinNeeds } from '../compile/needs.ts'
import type { Stored } from '../delivery/bundle.ts'
import type { PodOwners } from '../delivery/pod-owners.ts'
import type { Pusher } from '../delivery/pusher.ts'
import type { SigningKeys } from '../delivery/signing-keys.ts'
import { type PodNetwork, targetsOf } from '../delivery/targets.ts'
import type { Platform } from '../discovery.ts'
import type { EndpointsKeeper } from '../endpoints/endpoints-keeper.ts'
import { type KubeObject, keyOf, splitKey } from '../kube/objects.ts'
import type { ReconcileResult } from '../kube/queue.ts'
import { messageOf } from '../log.ts'
import { enforces, type StatusFacts } from '../status/facts.ts'
import type { TraceContext } from '../tracing/tracer.ts'
import { drainSecondsOf, type Release } from '../workload/settings.ts'
import type { World } from '../world.ts'
import { type ConfigReconciler, ForeignObjectError } from './config.ts'
import type { MountKeeper } from './mounts.ts'
import type { StatusReconciler } from './status.ts'
import type { WorkloadReconciler } from './workload.ts'

export interface GatewayOptions {
  readonly world: World
  readonly compilations: Compilations
  readonly config: ConfigReconciler
  readonly workload: WorkloadReconciler
  readonly status: StatusReconciler
  readonly mounts: MountKeeper
  readonly pusher: Pusher
  readonly endpoints: EndpointsKeeper
  readonly owners: PodOwners
  readonly signingKeys: () => SigningKeys
  readonly release: Release
  /** Throws while the kinds of the cluster are unknown. */
  readonly platform: () => Platform
  readonly random: () => number
  readonly network: PodNetwork
  /** Called after a new compilation, because verdicts on keys may have changed. */
  readonly onCompiled: (key: string) => void
  readonly timings?: Partial<GatewayTimings>
}

export interface GatewayTimings {
  readonly resyncMs: number
  /** A configuration that every pod has accepted is kept as the last good one after this time. */
  readonly soakMs: number
}

const SERVICE_LABEL = 'kubernetes.io/service-name'

const TIMINGS: GatewayTimings = { resyncMs: 600_000, soakMs: 5000 }

type Workload = StatusFacts['workload']

export class GatewayReconciler {
  readonly #options: GatewayOptions
  readonly #timings: GatewayTimings
  /** Since when every ready pod enforces a document. */
  readonly #goodSince = new Map<string, { documentHash: string; at: number }>()

  constructor(options: GatewayOptions) {
    this.#options = options
    this.#timings = { ...TIMINGS, ...options.timings }
  }

  /** `trace`: the span of this reconcile, the parent of its pushes. */
  async reconcile(key: string, trace?: TraceContext): Promise<ReconcileResult> {
    const { world, config } = this.#options
    const gateway = world.stores.gatewayConfigs.get(key)
    if (gateway === undefined) {
      this.#forget(key)
      return undefined
    }
    if (gateway.metadata.deletionTimestamp !== undefined)
      return await this.#windDown(gateway, trace)
    const isPaused = valueBelow(gateway, 'spec', 'paused') === true
    const faults: unknown[] = []
    let stored: Stored = {}
    let compiled: Compiled | undefined
    let keysWaitMs: number | undefined
    let workload: Workload = { kind: 'applied' }
    try {
      stored = await config.read(gateway)
      if (!isPaused) {
        const compilation = this.#options.compilations.of(gateway, stored.keys?.records)
        if (compilation.isNew) this.#options.onCompiled(key)
        compiled = compilation.compiled
        keysWaitMs = compilation.againMs
        stored = await config.reconcile(gateway, compiled, this.#floors(key))
      }
      await this.#program(gateway, stored, trace)
      if (compiled !== undefined) workload = await this.#shape(gateway, compiled, stored)
    } catch (error) {
      // Writes a status even after a failure, because it explains the failure.
      if (!(error instanceof ForeignObjectError)) faults.push(error)
      const kind = error instanceof ForeignObjectError ? 'conflict' : 'failed'
      workload = { kind, message: messageOf(error) }
    }
    // A pending check says nothing about the document; its keys are already being sent.
    const known = compiled?.isPending === true ? undefined : compiled
    const waits = await this.#finish(gateway, { isPaused, compiled: known, stored, workload })
    if (faults.length > 0) throw faults[0]
    return { againMs: Math.min(...waits, keysWaitMs ?? Infinity, this.#resyncMs(workload)) }
  }

  /**
   * While a finalizer holds a gateway its pods may continue to serve: keys are still revoked, and no object is created.
   */
  async #windDown(gateway: KubeObject, trace: TraceContext | undefined): Promise<ReconcileResult> {
    const { compilations, config, onCompiled } = this.#options
    const key = keyOf(gateway)
    if (valueBelow(gateway, 'spec', 'paused') === true) return undefined
    const stored = await config.read(gateway).catch(nothingOfOurs)
    if (stored.keys === undefined) {
      this.#forget(key)
      return undefined
    }
    const { compiled, isNew, againMs } = compilations.of(gateway, stored.keys.records)
    if (isNew) onCompiled(key)
    const next = await config.reconcile(gateway, compiled, this.#floors(key))
    await this.#program(gateway, next, trace)
    return againMs === undefined ? undefined : { againMs }
  }

  /** Anyone who may create pods could give one the gateway's label. */
  async #podsOf(gateway: KubeObject): Promise<readonly KubeObject[]> {
    const { owners, world } = this.#options
    const key = keyOf(gateway)
    const deployment = world.stores.deployments.get(key)
    return await owners.ownedBy(gateway, deployment, world.podsOf.get(key))
  }

  #floors(key: string) {
    const { pusher } = this.#options
    return {
      configuration: pusher.floorOf(key, 'configuration'),
      keys: pusher.floorOf(key, 'keys'),
    }
  }

  async #program(
    gateway: KubeObject,
    { configuration, keys }: Stored,
    trace: TraceContext | undefined,
  ): Promise<void> {
    const { pusher, endpoints, network } = this.#options
    const key = keyOf(gateway)
    const targets = targetsOf(await this.#podsOf(gateway), network.originOf)
    pusher.program(key, targets, { configuration, keys, trace })
    endpoints.program(gateway, targets, configuration?.needs)
  }

  async #shape(gateway: KubeObject, compiled: Compiled, stored: Stored): Promise<Workload> {
    const { workload, config, release, signingKeys, platform } = this.#options
    const { configuration } = stored
    const { spec } = compiled
    if (configuration === undefined || spec === undefined) return { kind: 'applied' }
    const needs = joinNeeds(configuration.needs, config.needsOfLastKnownGood(gateway))
    const drainSeconds = drainSecondsOf(spec, needs.requestTimeoutSeconds)
    const settings = { gateway, spec, needs, drainSeconds, release, platform: platform() }
    return await workload.reconcile(settings, signingKeys().trusted)
  }

  /** Returns the times after which the gateway should be reconciled again. */
  async #finish(
    gateway: KubeObject,
    found: {
      readonly isPaused: boolean
      readonly compiled: Compiled | undefined
      readonly stored: Stored
      readonly workload: Workload
    },
  ): Promise<number[]> {
    const { status, pusher, config } = this.#options
    const { isPaused, compiled, stored, workload } = found
    const key = keyOf(gateway)
    const pods = pusher.statesOf(key)
    const soak = isPaused ? undefined : await this.#keepWhatIsGood(gateway, stored, pods)
    const again = await status.reconcile({
      gateway,
      isPaused,
      compiled,
      documents: stored,
      lastKnownGoodHash:
        workload.kind === 'conflict' ? undefined : config.lastKnownGood(gateway)?.hash,
      pods,
      // The failure was reported above; the status is written anyway.
      podObjects: await this.#podsOf(gateway).catch(() => []),
      ...this.#options.workload.liveOf(gateway),
      endpoints: this.#endpointsOf(key),
      endpointsTrouble: this.#options.endpoints.troubleOf(gateway),
      hasHttpRoutes: this.#options.platform().hasHttpRoutes,
      workload,
    })
    const { namespace = '' } = gateway.metadata
    const mounts = isPaused ? undefined : await this.#options.mounts.renew(key, namespace, pods)
    return [soak, again, mounts].filter((waitMs) => waitMs !== undefined)
  }

  /** Undefined if no Service reaches the pods. */
  #endpointsOf(key: string): number | undefined {
    const { world, network } = this.#options
    if (!network.hasServices) return undefined
    const { name } = splitKey(key)
    // The Service of the metrics has endpoints, too.
    const slices = world.endpointSlicesOf
      .get(key)
      .filter(({ metadata }) => (metadata.labels?.[SERVICE_LABEL] ?? name) === name)
    return slices.reduce((sum, { ready }) => sum + Number(ready ?? 0), 0)
  }

  async #keepWhatIsGood(
    gateway: KubeObject,
    { configuration }: Stored,
    pods: ReturnType<Pusher['statesOf']>,
  ): Promise<number | undefined> {
    const key = keyOf(gateway)
    const ready = pods.filter(({ target }) => target.ready)
    const isGood = ready.length > 0 && ready.every((pod) => enforces(pod, configuration?.hash))
    if (configuration === undefined || !isGood) {
      this.#goodSince.delete(key)
      return undefined
    }
    const now = performance.now()
    const { documentHash } = configuration
    const known = this.#goodSince.get(key)
    const since = known?.documentHash === documentHash ? known.at : now
    this.#goodSince.set(key, { documentHash, at: since })
    const waitMs = since + this.#timings.soakMs - now
    if (waitMs > 0) return waitMs
    await this.#options.config.keepLastKnownGood(gateway, configuration)
    return undefined
  }

  #resyncMs(workload: Workload): number {
    if (workload.kind === 'waiting') return 2000
    // The obstructing object is not watched, so the reconcile repeats.
    const isObstructed =
      workload.kind === 'conflict' ||
      (workload.kind === 'applied' && workload.routeConflict !== undefined)
    const everyMs = isObstructed ? 15_000 : this.#timings.resyncMs
    return everyMs * (0.9 + this.#options.random() / 5)
  }

  #forget(key: string): void {
    const { pusher, status, mounts, config, compilations, onCompiled, owners } = this.#options
    pusher.forget(key)
    this.#options.endpoints.forget(key)
    owners.forget(key)
    status.forget(key)
    mounts.forget(key)
    config.forget(splitKey(key))
    compilations.forget(key)
    this.#goodSince.delete(key)
    onCompiled(key)
  }
}

function nothingOfOurs(error: unknown): Stored {
  if (error instanceof ForeignObjectError) return {}
  throw error
}
