/** Whether the pods of a Deployment are being replaced, and make progress, as its status reports. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'

export function isRolling(deployment: KubeObject): boolean {
  if (!isObserved(deployment)) return true
  const count = (...path: string[]) => Number(valueBelow(deployment, ...path) ?? 0)
  const replicas = count('status', 'replicas')
  return (
    count('status', 'updatedReplicas') < count('spec', 'replicas') ||
    replicas > count('status', 'updatedReplicas')
  )
}

/** Minutes; a Deployment in which no pod becomes ready for this long is stuck. */
export const PROGRESS_DEADLINE_MINUTES = 10

/**
 * No pod has become ready within `progressDeadlineSeconds`. Kubernetes keeps trying, and removes this when one does.
 */
export function isStuck(deployment: KubeObject): boolean {
  const conditions = valueBelow(deployment, 'status', 'conditions')
  return (
    isObserved(deployment) &&
    Array.isArray(conditions) &&
    conditions.some(
      (condition) =>
        valueBelow(condition, 'type') === 'Progressing' &&
        valueBelow(condition, 'reason') === 'ProgressDeadlineExceeded',
    )
  )
}

/** The status describes the present spec. */
function isObserved(deployment: KubeObject): boolean {
  const observed = valueBelow(deployment, 'status', 'observedGeneration')
  return observed === deployment.metadata.generation
}
