/** The settings that shape the pods of a gateway: the user's wishes, the configuration's needs, the release's defaults. */
import type { WorkloadSpec } from '../../crds/workload.ts'
import type { Needs } from '../compile/needs.ts'
import type { Platform } from '../discovery.ts'
import type { KubeObject } from '../kube/objects.ts'

export interface WorkloadSettings {
  readonly gateway: KubeObject
  readonly spec: WorkloadSpec
  readonly needs: Needs
  readonly drainSeconds: number
  readonly release: Release
  /** Absent: Kubernetes alone. */
  readonly platform?: Platform
}

/** The parts that come with this release of the operator. */
export interface Release {
  readonly image: string
  readonly version: string
  /** The operator's namespace: only its pods may open the push port. */
  readonly operatorNamespace: string
}

/** Added to the drain: endpoints must change before it, and the process must end after it. */
export const DRAIN_DELAY_SECONDS = 10
export const DRAIN_MARGIN_SECONDS = 10
/** The longest timeout of a request plus this is the time for a drain. */
const DRAIN_BEYOND_REQUEST_SECONDS = 10
const REQUEST_TIMEOUT_SECONDS = 600

export function drainSecondsOf(spec: WorkloadSpec, requestTimeout: unknown): number {
  const seconds = typeof requestTimeout === 'number' ? requestTimeout : REQUEST_TIMEOUT_SECONDS
  return spec.drainTimeoutSeconds ?? seconds + DRAIN_BEYOND_REQUEST_SECONDS
}
