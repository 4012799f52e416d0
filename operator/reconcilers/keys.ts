/** Writes the status of each GatewayKey: whether it is accepted, and whether it still works. */

import { GatewayKeyStatus, type GeneratedHash, type Generation } from '../../crds/gateway-key.ts'
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
import { generationOf, hashesOf, isDue, remaining, waitOf } from '../keys/generated.ts'
import { exchange } from '../keys/key-secrets.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import type { Events } from '../kube/events.ts'
import { STATUS_MANAGER } from '../kube/names.ts'
import { type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { ReconcileResult } from '../kube/queue.ts'
import { messageOf } from '../log.ts'
import { keyConditions } from '../status/key-conditions.ts'
import type { World } from '../world.ts'
import { isoSeconds } from './status.ts'

export interface KeysOptions {
  readonly api: ApiClient
  readonly world: World
  readonly compilations: Compilations
  readonly events: Pick<Events, 'tellOfChanges'>
  readonly wallClock: () => number
  /** Whether the operator makes keys for GatewayKeys that request one. */
  readonly mayMakeKeys: boolean
}

/** The watch will deliver a newer version. */
const STALE_MS = 200

const OFF =
  'This operator makes no keys. Install its chart with keys.generate: true, or make the key with `gw keys create --apply`.'

/** Longer timers overflow; the key is reconciled again then. */
const WAIT_MS_MAX = 24 * 3600_000

export class KeysReconciler {
  readonly #options: KeysOptions

  constructor(options: KeysOptions) {
    this.#options = options
  }

  async reconcile(name: string): Promise<ReconcileResult> {
    const { world, wallClock } = this.#options
    const key = world.stores.gatewayKeys.get(name)
    if (key === undefined || key.metadata.deletionTimestamp !== undefined) return undefined
    const verdict = this.#verdict(key)
    // The gateway is compiled soon, and its compilation triggers this reconcile again.
    if (verdict === undefined) return undefined
    const before = statusOf(key)
    const wanted = generationOf(key)
    if (wanted !== undefined) return await this.#keepGenerated(key, verdict, wanted)
    await this.#tell(key, nextStatus(key, verdict, before, isoSeconds(wallClock())))
    return this.#untilExpiry(key)
  }

  /** Written with the version that was checked: for an older one the valid hashes are unknown. */
  async #keepGenerated(
    key: KubeObject,
    verdict: KeyVerdict,
    wanted: Generation,
  ): Promise<ReconcileResult> {
    const { api, wallClock, mayMakeKeys } = this.#options
    const now = wallClock()
    let version = key.metadata.resourceVersion
    let known = remaining(hashesOf(key), now)
    const write = async (hashes: readonly GeneratedHash[], pending?: string) => {
      const isUnmade = hashes.every(({ state }) => state === 'Pending')
      const judged = { ...verdict, isUnmade, ...(pending !== undefined && { pending }) }
      const next = nextStatus(key, judged, statusOf(key), isoSeconds(now))
      const status = hashes.length === 0 ? next : { ...next, hashes: [...hashes] }
      version = await this.#tell(key, status, version)
      known = hashes
    }
    try {
      const isMade = verdict.accepted && verdict.state === 'ACTIVE'
      if (!isMade || !isDue(wanted, known, now)) await write(known)
      else if (!mayMakeKeys) await write(known, OFF)
      else await write(await exchange(api, { key, wanted, hashes: known, now }, write))
    } catch (error) {
      // The watch will deliver the newer version.
      if (isStatus(error, 409)) return { againMs: STALE_MS }
      await write(remaining(known, now), `The key could not be made: ${messageOf(error)}`)
      throw error
    }
    const waits = [waitOf(wanted, known, now), this.#untilExpiry(key)?.againMs]
    const next = Math.min(...waits.flatMap((waitMs) => waitMs ?? []), WAIT_MS_MAX)
    return { againMs: next + 50 }
  }

  /** Returns the stored version. */
  async #tell(
    key: KubeObject,
    status: GatewayKeyStatus,
    version?: string,
  ): Promise<string | undefined> {
    const before = statusOf(key)
    if (hashOf(status) === hashOf(before)) return version
    const stored = await this.#write(this.#options.api, key, status, version)
    const object = { ...key, kind: RESOURCES.gatewayKeys.kind }
    this.#options.events.tellOfChanges(object, before.conditions, status.conditions)
    return stored
  }

  /** Whether the status of the key differs from the verdict. */
  isOutdated(key: KubeObject): boolean {
    const verdict = this.#verdict(key)
    if (verdict === undefined) return false
    // Called for thousands at a time: the definition of the status is not needed for that.
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

  async #write(
    api: ApiClient,
    key: KubeObject,
    status: GatewayKeyStatus,
    version: string | undefined,
  ): Promise<string | undefined> {
    const { name, namespace, uid } = key.metadata
    const judged = version === undefined ? {} : { resourceVersion: version }
    const metadata = { name, ...(namespace && { namespace }), ...(uid && { uid }), ...judged }
    try {
      const options = { manager: STATUS_MANAGER, subresource: 'status' }
      const stored = await api.apply(RESOURCES.gatewayKeys, { metadata, status }, options)
      return stored.metadata.resourceVersion
    } catch (error) {
      const isStale = version !== undefined && isStatus(error, 409)
      if (isStale || (!isStatus(error, 404) && !isStatus(error, 409))) throw error
      return undefined
    }
  }

  #verdict(key: KubeObject): KeyVerdict | undefined {
    const { world, compilations, wallClock } = this.#options
    const gateway = gatewayOf(key)
    const state = keyStateOf(key, wallClock())
    const found = compilations.verdictOf(gateway, keyOf(key))
    if (found !== undefined)
      return found.accepted
        ? { ...found, state, message: acceptedMessage(state, found) }
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
