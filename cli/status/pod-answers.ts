/** Answers of the pods of a gateway, because the status of the resource is some seconds old. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { withGateways } from '../asking/asked-gateways.ts'
import type { ClusterAccess } from '../asking/cluster-access.ts'
import type { InCluster } from '../asking/place.ts'

export interface PodAnswer {
  readonly pod: string
  /** The answer to `GET /status`. */
  readonly body: unknown
}

export interface PodStore {
  readonly pod: string
  readonly state: string
  readonly failOpen: boolean
  /** Charges that the store has not taken yet. */
  readonly settlementsWaiting: number
}

const ASK_MS = 3000

/** The pods that answer; empty without permission to reach pods. */
export async function askPods(
  { namespace }: ClusterAccess,
  gateway: KubeObject,
  place: InCluster,
): Promise<PodAnswer[]> {
  const { name } = gateway.metadata
  const exact = { ...place, namespace: gateway.metadata.namespace ?? namespace, gateway: name }
  try {
    return await withGateways(exact, async (gateways) => {
      const asked = gateways.map(async ({ name: pod, ask }) => {
        const { body } = await ask('/status', { timeoutMs: ASK_MS })
        return { pod, body }
      })
      const answers = await Promise.allSettled(asked)
      return answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    })
  } catch {
    return []
  }
}

/** Whether the shared store answers each pod. */
export function storesOf(gateway: KubeObject, answers: readonly PodAnswer[]): PodStore[] {
  if (!sharesStore(gateway)) return []
  return answers.map(({ pod, body }) => {
    const store = valueBelow(body, 'store')
    const state = String(valueBelow(store, 'state') ?? 'up')
    const waiting = Number(valueBelow(store, 'settlements_waiting') ?? 0)
    const failOpen = valueBelow(store, 'fail_open') === true
    return { pod, state, failOpen, settlementsWaiting: waiting }
  })
}

function sharesStore(gateway: KubeObject): boolean {
  return valueBelow(gateway, 'gw', 'rate_limits', 'backend') === 'redis'
}
