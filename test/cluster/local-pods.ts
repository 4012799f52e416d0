/** Pods that are local processes: an annotation gives their push address, because no Service reaches them. */
import { CLUSTER_NETWORK, type PodNetwork } from '../../operator/delivery/targets.ts'

export const PUSH_ADDRESS_ANNOTATION = 'inference.gw/push-address'

export const LOCAL_PODS: PodNetwork = {
  originOf(pod) {
    const address = pod.metadata.annotations?.[PUSH_ADDRESS_ANNOTATION]
    return address === undefined ? CLUSTER_NETWORK.originOf(pod) : `http://${address}`
  },
  hasServices: false,
}
