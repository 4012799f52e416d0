/**
 * Our entries among the parents of each InferencePool: one for each gateway that names it, in addition to foreign ones.
 */
import { isDeepStrictEqual } from 'node:util'
import { isRecord, listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { refusalOf } from '../endpoints/pools.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import { STATUS_MANAGER } from '../kube/names.ts'
import { apiVersionOf, type KubeObject, keyOf, RESOURCES } from '../kube/objects.ts'
import type { ReconcileResult } from '../kube/queue.ts'
import type { World } from '../world.ts'
import { isoSeconds } from './status.ts'

export interface PoolsOptions {
  readonly api: Pick<ApiClient, 'update'>
  readonly world: Pick<World, 'stores' | 'gatewaysOfPool'>
  readonly wallClock: () => number
  readonly random: () => number
  readonly onError: (message: string) => void
}

const CONTROLLER = 'inference.gw/gateway-controller'
/** The maximum for all controllers together, by the definition of the kind. */
const PARENTS_MAX = 32
/** Another writer was faster, and the watch will deliver its change. */
const CONFLICT_MS = 50

export class PoolsReconciler {
  readonly #options: PoolsOptions

  constructor(options: PoolsOptions) {
    this.#options = options
  }

  async reconcile(key: string): Promise<ReconcileResult> {
    const { api, world, wallClock, random, onError } = this.#options
    const pool = world.stores.inferencePools.get(key)
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return undefined
    const before = listBelow(pool, 'status', 'parents')
    const gateways = world.gatewaysOfPool.get(key)
    const parents = nextParents(pool, before, gateways, isoSeconds(wallClock()))
    if (parents.length > PARENTS_MAX) {
      const said = `InferencePool ${key} has ${before.length} parents; ${PARENTS_MAX} are the most`
      onError(`${said}, so no entry is written for ${gateways.map(keyOf).join(', ')}.`)
      return undefined
    }
    if (JSON.stringify(parents) === JSON.stringify(before)) return undefined
    try {
      // The list has no keys for server-side apply: it is replaced as a whole, unless another writer was faster.
      await api.update(
        RESOURCES.inferencePools,
        withParents(pool, parents),
        STATUS_MANAGER,
        'status',
      )
      return undefined
    } catch (error) {
      if (isStatus(error, 404)) return undefined
      if (!isStatus(error, 409)) throw error
      return { againMs: CONFLICT_MS * (1 + random()) }
    }
  }
}

function withParents(pool: KubeObject, parents: readonly unknown[]): KubeObject {
  const { apiVersion = apiVersionOf(RESOURCES.inferencePools), status } = pool
  const { kind } = RESOURCES.inferencePools
  return { ...pool, apiVersion, kind, status: { ...(isRecord(status) && status), parents } }
}

/** Foreign entries keep their content and place; ours are removed with their gateway, and new ones are appended. */
function nextParents(
  pool: KubeObject,
  before: readonly unknown[],
  gateways: readonly KubeObject[],
  now: string,
): readonly unknown[] {
  const missing = new Map(gateways.map((gateway) => [keyOf(gateway), gateway]))
  const kept = before.flatMap((entry) => {
    if (valueBelow(entry, 'controllerName') !== CONTROLLER) return [entry]
    const key = parentOf(entry)
    const gateway = missing.get(key)
    missing.delete(key)
    return gateway === undefined ? [] : [entryOf(pool, gateway, entry, now)]
  })
  const sorted = [...missing.values()].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  return [...kept, ...sorted.map((gateway) => entryOf(pool, gateway, undefined, now))]
}

function parentOf(entry: unknown): string {
  const [namespace, name] = ['namespace', 'name'].map((part) =>
    valueBelow(entry, 'parentRef', part),
  )
  return `${namespace}/${name}`
}

function entryOf(pool: KubeObject, gateway: KubeObject, before: unknown, now: string): object {
  const { name, namespace } = gateway.metadata
  const refusal = refusalOf(pool)
  const judged = [
    refusal === undefined
      ? ['Accepted', 'True', 'Accepted', 'Its ready pods get requests.']
      : ['Accepted', 'False', 'NotSupportedByParent', refusal],
    ['ResolvedRefs', 'True', 'ResolvedRefs', 'The gateway itself chooses among the pods.'],
  ] as const
  const entry = {
    conditions: judged.map(([type, status, reason, message]) => {
      const known = listBelow(before, 'conditions').find((one) => valueBelow(one, 'type') === type)
      const isSame = valueBelow(known, 'status') === status
      const lastTransitionTime = (isSame && valueBelow(known, 'lastTransitionTime')) || now
      const observedGeneration = pool.metadata.generation ?? 0
      return { lastTransitionTime, message, observedGeneration, reason, status, type }
    }),
    controllerName: CONTROLLER,
    parentRef: { group: 'inference.gw', kind: 'GatewayConfig', name, namespace },
  }
  // The stored entry if it is equal: another order of members would be written without end.
  return isDeepStrictEqual(before, entry) ? (before as object) : entry
}
