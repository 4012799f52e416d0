/** The parts of a pod that could read its Secrets: the image, its environment, and its allowed destinations. */

import { hashOf } from '../../dataplane/delivery/signed.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'

/** On a Deployment, and on the last good configuration. */
export const RUNS_WITH_ANNOTATION = 'inference.gw/runs-with'

/** Annotations and labels of pods matter: containers that a cluster injects because of them run in the same pod. */
const FIELDS = ['image', 'env', 'envFrom', 'podAnnotations', 'podLabels', 'networkPolicy'] as const

const LATER = ['volumes', 'serviceAccount'] as const

/** Secrets that only the last good configuration names stay mounted while this value has not changed since. */
export function runsWith(gateway: KubeObject): string {
  const of = (field: string) => valueBelow(gateway, 'spec', field)
  // Added later: if none is written, the hash stays the same.
  const later = LATER.map(of).filter((value) => value !== undefined)
  return hashOf([...FIELDS.map((field) => of(field) ?? null), ...later]).slice(0, 16)
}
