/** Says on each GatewayKey whether it counts, and whether it still works. */

import { GatewayKeyStatus } from '../../crds/gateway-key.ts'
import { hashOf } from '../../dataplane/delivery/signed.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { Compilations } from '../compile/compilations.ts'
import {
  acceptedMessage,
  gatewayOf,
  type KeyVerdict,
  keyStateOf,
  NOT_PERMITTED,
} from '../compile/compile-keys.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import type { Events } from '../kube/events.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { ReconcileResult } from '../kube/queue.ts'
import { keyConditions } from '../status/key-conditions.ts'
import { STATUS_MANAGER } from '../workload/names.ts'
import type { World } from '../world.ts'
import { isoSeconds } from './status.ts'

export interface KeysOptions {
  readonly api: ApiClient
  readonly world: World
  readonly compilations: Compilations
  readonly events: Pick<Events, 'tellOfChanges'>
  readonly wallClock: () => number
}

/** Longer timers overflow; the key is reconciled again then. */
const WAIT_MS_MAX = 24 * 3600_000

export class KeysReconciler {
  readonly #options: KeysOptions

  constructor(options: KeysOptions) {
    this.#options = options
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { api, world, wallClock } = this.#options
    const key = world.stores.gatewayKeys.get(name)
    if (key === undefined || key.metadata.deletionTimestamp !== undefined) return undefined
    const verdict = this.#verdict(key)
    // The gateway is compiled soon, and tells us then.
    if (verdict === undefined) return undefined
    const before = statusOf(key)
    const status = nextStatus(key, verdict, before, isoSeconds(wallClock()))
    if (hashOf(status) !== hashOf(before)) {
      await this.#write(api, key, status)
      const object = { ...key, kind: RESOURCES.gatewayKeys.kind }
      this.#options.events.tellOfChanges(object, before.conditions, status.conditions)
    }
    return this.#untilExpiry(key)
  }

  /** Whether the status of the key says something else than the verdict. */
  isOutdated(key: KubeObject): boolean {
    const verdict = this.#verdict(key)
    if (verdict === undefined) return false
    // Asked of thousands at a time: the definition of the status is not needed for that.
    const conditions = valueBelow(key, 'status', 'conditions')
    const listed: readonly unknown[] = Array.isArray(conditions) ? conditions : []
    const generation = key.metadata.generation ?? 0
    const due = keyConditions({ verdict, generation, before: [], now: '' })
    const isTold = due.every(({ type, reason, message }) =>
      listed.some(
        (one) =>
          valueBelow(one, 'type') === type &&
          valueBelow(one, 'reason') === reason &&
          valueBelow(one, 'message') === message,
      ),
    )
    return (
      valueBelow(key, 'status', 'state') !== verdict.state ||
      valueBelow(key, 'status', 'observedGeneration') !== key.metadata.generation ||
      !isTold
    )
  }

  async #write(api: ApiClient, key: KubeObject, status: GatewayKeyStatus): Promise<void> {
    const { name, namespace, uid } = key.metadata
    const body = {
      metadata: { name, ...(namespace && { namespace }), ...(uid && { uid }) },
      status,
    }
    try {
      const options = { manager: STATUS_MANAGER, subresource: 'status' }
      await api.apply(RESOURCES.gatewayKeys, body, options)
    } catch (error) {
      if (!isStatus(error, 404) && !isStatus(error, 409)) throw error
    }
  }

  #verdict(key: KubeObject): KeyVerdict | undefined {
    const { world, compilations, wallClock } = this.#options
    const gateway = gatewayOf(key)
    const state = keyStateOf(key, wallClock())
    const found = compilations.verdictOf(gateway, keyOf(key))
    if (found !== undefined)
      return found.accepted
        ? { ...found, state, message: acceptedMessage(state, found.missing) }
        : { ...found, state }
    if (world.stores.gatewayConfigs.get(gateway) !== undefined) return undefined
    const isForeign = !gateway.startsWith(`${key.metadata.namespace}/`)
    if (isForeign) return { ...NOT_PERMITTED, state }
    const message =
      `There is no GatewayConfig ${gateway.slice(gateway.indexOf('/') + 1)} in this namespace ` +
      'yet. Create it, or correct spec.gateway.'
    return { accepted: false, reason: 'GatewayNotFound', message, state }
  }

  #untilExpiry(key: KubeObject): ReconcileResult {
    const expiresAt = valueBelow(key, 'spec', 'expiresAt')
    if (typeof expiresAt !== 'string') return undefined
    const waitMs = Date.parse(expiresAt) - this.#options.wallClock()
    return waitMs > 0 ? { againMs: Math.min(waitMs + 50, WAIT_MS_MAX) } : undefined
  }
}

function statusOf(key: KubeObject): GatewayKeyStatus {
  const parsed = GatewayKeyStatus.safeParse(key.status ?? {})
  return parsed.success ? parsed.data : GatewayKeyStatus.parse({})
}

function nextStatus(
  key: KubeObject,
  verdict: KeyVerdict,
  before: GatewayKeyStatus,
  now: string,
): GatewayKeyStatus {
  const generation = key.metadata.generation ?? 0
  return {
    observedGeneration: generation,
    state: verdict.state,
    conditions: keyConditions({ verdict, generation, before: before.conditions, now }),
  }
}
