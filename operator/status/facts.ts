/** The facts from which a status is computed. */
import type { GatewayStatus } from '../../crds/gateway-config.ts'
import type { Compiled } from '../compile/compile.ts'
import type { Stored } from '../delivery/bundle.ts'
import type { PodState } from '../delivery/pusher.ts'
import type { EndpointsTrouble } from '../endpoints/endpoints-keeper.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { WorkloadOutcome } from '../workload/outcome.ts'

export interface StatusFacts {
  readonly gateway: KubeObject
  /** The status that was written last. */
  readonly before: GatewayStatus
  /** ISO 8601. */
  readonly now: string
  readonly isPaused: boolean
  /** Absent while paused. */
  readonly compiled: Compiled | undefined
  readonly documents: Stored
  readonly lastKnownGoodHash: string | undefined
  readonly pods: readonly PodState[]
  /** All pods of the API server, including those that do not run. */
  readonly podObjects: readonly KubeObject[]
  readonly deployment: KubeObject | undefined
  readonly service: KubeObject | undefined
  readonly httpRoute: KubeObject | undefined
  /** Whether the operator can create an HTTPRoute. */
  readonly hasHttpRoutes: boolean
  /** Pods that clients of the Service reach; absent if unknown. */
  readonly endpoints: number | undefined
  /** Why the endpoints of upstreams are missing. */
  readonly endpointsTrouble: EndpointsTrouble
  readonly workload: WorkloadOutcome | { readonly kind: 'failed'; readonly message: string }
}

export interface ConditionState {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

export function yes(reason: string, message: string): ConditionState {
  return { status: 'True', reason, message }
}

export function no(reason: string, message: string): ConditionState {
  return { status: 'False', reason, message }
}

export function unknown(message: string, reason = 'Pending'): ConditionState {
  return { status: 'Unknown', reason, message }
}

/** Whether the pod enforces the desired configuration, under any number of the document. */
export function enforces({ report }: PodState, hash: string | undefined): boolean {
  return hash !== undefined && report?.configuration.hash === hash
}

export function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

export function listed(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most).join(', ')
  return names.length > most ? `${shown} and ${names.length - most} more` : shown
}
