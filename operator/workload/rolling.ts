/** Whether the pods of a Deployment are being replaced, by its own word. */
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'

export function isRolling(deployment: KubeObject): boolean {
  const observed = valueBelow(deployment, 'status', 'observedGeneration')
  if (observed !== deployment.metadata.generation) return true
  const count = (...path: string[]) => Number(valueBelow(deployment, ...path) ?? 0)
  const replicas = count('status', 'replicas')
  return (
    count('status', 'updatedReplicas') < count('spec', 'replicas') ||
    replicas > count('status', 'updatedReplicas')
  )
}
