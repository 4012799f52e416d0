/** Whether the shared store answers each pod, by the pods' own word: a status is some seconds old. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { withGateways } from '../asking/asked-gateways.ts'
import type { ClusterAccess } from '../asking/cluster-access.ts'
import type { InCluster } from '../asking/place.ts'

export interface PodStore {
  readonly pod: string
  readonly state: string
  readonly failOpen: boolean
}

/** If pods may not be asked, or one does not answer, the status of the gateway has to suffice. */
export async function storesOf(
  { namespace }: ClusterAccess,
  gateway: KubeObject,
  place: InCluster,
): Promise<PodStore[]> {
  if (valueBelow(gateway, 'gw', 'rate_limits', 'backend') !== 'redis') return []
  const { name } = gateway.metadata
  const exact = { ...place, namespace: gateway.metadata.namespace ?? namespace, gateway: name }
  try {
    return await withGateways(exact, async (gateways) => {
      const asked = gateways.map(async ({ name: pod, ask }) => {
        const { body } = await ask('/status', { timeoutMs: ASK_MS })
        const store = valueBelow(body, 'store')
        const state = String(valueBelow(store, 'state') ?? 'up')
        return { pod, state, failOpen: valueBelow(store, 'fail_open') === true }
      })
      const answers = await Promise.allSettled(asked)
      return answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    })
  } catch {
    return []
  }
}

const ASK_MS = 3000
