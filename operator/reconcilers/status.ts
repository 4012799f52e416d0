/** Writes the status of a gateway when it changes, and no more often than a person can read it. */
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { hashOf } from '../../dataplane/delivery/signed.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import type { Events } from '../kube/events.ts'
import { STATUS_MANAGER } from '../kube/names.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { StatusFacts } from '../status/facts.ts'
import { gatewayStatus } from '../status/gateway-status.ts'

export interface StatusOptions {
  readonly api: ApiClient
  readonly events: Events
  readonly wallClock: () => number
  readonly onWrite?: () => void
  /** Shortest time between two writes for one gateway; changes in between are written together. */
  readonly intervalMs?: number
}

interface Written {
  readonly uid: string | undefined
  readonly status: GatewayStatus
  readonly hash: string
  /** The version of the object with this status. */
  readonly version: string | undefined
  readonly at: number
}

export class StatusReconciler {
  readonly #options: StatusOptions
  readonly #written = new Map<string, Written>()

  constructor(options: StatusOptions) {
    this.#options = options
  }

  /** The last written status, by this process or by the previous leader. */
  before(gateway: KubeObject): GatewayStatus {
    const written = this.#written.get(keyOf(gateway))
    if (written !== undefined && written.uid === gateway.metadata.uid) return written.status
    const parsed = GatewayStatus.safeParse(gateway.status ?? {})
    return parsed.success ? parsed.data : GatewayStatus.parse({})
  }

  /** Returns in how many milliseconds it must be called again, if at all. */
  async reconcile(facts: Omit<StatusFacts, 'before' | 'now'>): Promise<number | undefined> {
    const { api, events, wallClock, onWrite, intervalMs = 300 } = this.#options
    const { gateway } = facts
    const before = this.before(gateway)
    const status = gatewayStatus({ ...facts, before, now: isoSeconds(wallClock()) })
    const hash = hashOf(status)
    const written = this.#written.get(keyOf(gateway))
    const isOfThis = written?.uid === gateway.metadata.uid
    const isUntouched = !isOfThis || written === undefined || !isOverwritten(gateway, written)
    if (isUntouched && hash === (isOfThis ? written?.hash : hashOf(before))) return undefined
    const waitMs = isOfThis && written ? written.at + intervalMs - performance.now() : 0
    if (waitMs > 0) return waitMs
    const { uid, name, namespace } = gateway.metadata
    const body = {
      metadata: { name, ...(namespace && { namespace }), ...(uid && { uid }) },
      status,
    }
    let version: string | undefined
    try {
      const stored = await api.apply(RESOURCES.gatewayConfigs, body, {
        manager: STATUS_MANAGER,
        subresource: 'status',
      })
      version = stored.metadata.resourceVersion
    } catch (error) {
      // It was deleted meanwhile, or replaced by another one of the same name.
      if (isStatus(error, 404) || isStatus(error, 409)) return undefined
      throw error
    }
    onWrite?.()
    this.#written.set(keyOf(gateway), { uid, status, hash, version, at: performance.now() })
    events.tellOfChanges(gateway, before.conditions, status.conditions)
    return undefined
  }

  forget(key: string): void {
    this.#written.delete(key)
  }
}

/** Whether another writer has changed the status since; the watch may be older than our last write. */
function isOverwritten(gateway: KubeObject, { hash, version }: Written): boolean {
  const { resourceVersion: seen = '' } = gateway.metadata
  if (version === undefined || !/^\d+$/.test(seen) || !/^\d+$/.test(version)) return false
  if (BigInt(seen) <= BigInt(version)) return false
  const { data } = GatewayStatus.safeParse(gateway.status ?? {})
  return data === undefined || hashOf(data) !== hash
}

/** Times in conditions have no fractions. */
export function isoSeconds(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`
}
