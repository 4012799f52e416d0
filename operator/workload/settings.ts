/** What decides how the pods of a gateway look: the user's wishes, the configuration's needs, the release's defaults. */
import type { WorkloadSpec } from '../../crds/workload.ts'
import type { Needs } from '../compile/needs.ts'
import type { KubeObject } from '../kube/objects.ts'

export interface WorkloadSettings {
  readonly gateway: KubeObject
  readonly spec: WorkloadSpec
  readonly needs: Needs
  readonly drainSeconds: number
  readonly release: Release
}

/** What this release of the operator brings along. */
export interface Release {
  readonly image: string
  readonly version: string
  /** Where the operator runs: its pods alone may open the push port. */
  readonly operatorNamespace: string
}

/** Beside the drain itself: before it the endpoints have to notice, after it the process has to end. */
export const DRAIN_DELAY_SECONDS = 10
export const DRAIN_MARGIN_SECONDS = 10
/** Longest ceiling of a request plus this is what it may take to drain. */
const DRAIN_BEYOND_REQUEST_SECONDS = 10
const REQUEST_TIMEOUT_SECONDS = 600

export function drainSecondsOf(spec: WorkloadSpec, requestTimeout: unknown): number {
  const seconds = typeof requestTimeout === 'number' ? requestTimeout : REQUEST_TIMEOUT_SECONDS
  return spec.drainTimeoutSeconds ?? seconds + DRAIN_BEYOND_REQUEST_SECONDS
}
