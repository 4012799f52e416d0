/** Leader election: only the operator that certainly holds the Lease writes. */

import { setTimeout as delay } from 'node:timers/promises'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { ApiClient } from './api.ts'
import { type KubeObject, RESOURCES } from './objects.ts'

export interface LeaseOptions {
  readonly api: Pick<ApiClient, 'get' | 'create' | 'update'>
  readonly namespace: string
  readonly name: string
  /** Unique to this process. */
  readonly identity: string
  readonly random: () => number
  readonly wallClock: () => number
  readonly onGained: () => void
  /** Called once; after it this process never leads again. */
  readonly onLost: () => void
  readonly onError?: (error: unknown) => void
  readonly timings?: LeaseTimings
}

export interface LeaseTimings {
  /** Other replicas take over once the lease has not changed for this time. */
  readonly durationMs: number
  /** A leader that could not renew for this time stops, before another one starts. */
  readonly renewMs: number
  readonly retryMs: number
}

const TIMINGS: LeaseTimings = { durationMs: 15_000, renewMs: 10_000, retryMs: 2000 }
const MANAGER = 'gw-operator-lease'

export class LeaderLease {
  readonly #options: LeaseOptions
  readonly #timings: LeaseTimings
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  /** The lease as last seen, and when it last changed by the local clock: clocks of other machines are not compared. */
  #seen: { version: string | undefined; at: number } = { version: undefined, at: 0 }
  #renewedAt = Number.NEGATIVE_INFINITY
  #isLeading = false
  #isLost = false

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#timings = options.timings ?? TIMINGS
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Checked before every write, so that a process that was paused detects the lost time. */
  get mayWrite(): boolean {
    return this.#isLeading && performance.now() - this.#renewedAt < this.#timings.renewMs
  }

  /** Releases the lease, so that the next replica need not wait. Call it once all writing has ended. */
  async release(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    if (!this.mayWrite) return
    this.#isLeading = false
    this.#isLost = true
    const { api } = this.#options
    const lease = await api.get(RESOURCES.leases, this.#place())
    if (lease === undefined || holderOf(lease) !== this.#options.identity) return
    const spec = { ...specOf(lease), holderIdentity: '', leaseDurationSeconds: 1 }
    await api.update(RESOURCES.leases, { ...lease, spec }, MANAGER)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && !this.#isLost) {
      await this.#try().catch((error: unknown) => this.#options.onError?.(error))
      if (this.#isLeading && !this.mayWrite) this.#lose()
      const waitMs = this.#timings.retryMs * (1 + this.#options.random() / 5)
      await delay(waitMs, undefined, { signal }).catch(() => {})
    }
  }

  async #try(): Promise<void> {
    const { api, identity } = this.#options
    const asked = performance.now()
    const lease = await api.get(RESOURCES.leases, this.#place())
    const version = lease?.metadata.resourceVersion
    if (version !== this.#seen.version) this.#seen = { version, at: performance.now() }
    if (lease === undefined) {
      this.#hold(await api.create(RESOURCES.leases, this.#next(undefined), MANAGER), asked)
    } else if (holderOf(lease) === identity || this.#isFree(lease)) {
      this.#hold(await api.update(RESOURCES.leases, this.#next(lease), MANAGER), asked)
    } else if (this.#isLeading) {
      this.#lose()
    }
  }

  /** The update fails if another replica has written since, so that two never hold it. */
  #hold(lease: KubeObject, asked: number): void {
    this.#seen = { version: lease.metadata.resourceVersion, at: performance.now() }
    // Counted from before the request, because others count from when they see it.
    this.#renewedAt = asked
    if (this.#isLeading || this.#isLost) return
    this.#isLeading = true
    this.#options.onGained()
  }

  #lose(): void {
    this.#isLeading = false
    this.#isLost = true
    this.#options.onLost()
  }

  #isFree(lease: KubeObject): boolean {
    if (holderOf(lease) === '') return true
    const seconds = specOf(lease).leaseDurationSeconds
    const durationMs = typeof seconds === 'number' ? seconds * 1000 : this.#timings.durationMs
    return performance.now() - this.#seen.at > durationMs
  }

  #next(lease: KubeObject | undefined): KubeObject {
    const now = new Date(this.#options.wallClock()).toISOString().replace('Z', '000Z')
    const before = lease === undefined ? {} : specOf(lease)
    const { identity } = this.#options
    const isOurs = before.holderIdentity === identity
    const transitions = typeof before.leaseTransitions === 'number' ? before.leaseTransitions : 0
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: lease?.metadata ?? this.#place(),
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.max(1, Math.round(this.#timings.durationMs / 1000)),
        acquireTime: isOurs ? before.acquireTime : now,
        renewTime: now,
        leaseTransitions: isOurs || lease === undefined ? transitions : transitions + 1,
      },
    }
  }

  #place(): { namespace: string; name: string } {
    const { namespace, name } = this.#options
    return { namespace, name }
  }
}

interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly leaseTransitions?: number
  readonly acquireTime?: string
}

function specOf(lease: KubeObject): LeaseSpec {
  // The API server checks these members against its own schema.
  return (valueBelow(lease, 'spec') ?? {}) as LeaseSpec
}

function holderOf(lease: KubeObject): string {
  return specOf(lease).holderIdentity ?? ''
}
