/** Compares what is there with what is desired, whatever the API server has added. */
import { isObject } from '../kube/objects.ts'

/** Whether all that is desired is there; a list must have exactly its entries. */
export function covers(live: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    if (!Array.isArray(live) || live.length !== desired.length) return false
    return desired.every((entry, index) => covers(live[index], entry))
  }
  if (isObject(desired)) {
    return (
      isObject(live) && Object.entries(desired).every(([name, value]) => covers(live[name], value))
    )
  }
  return live === desired
}
