/** Compares the stored object with the desired one, and ignores fields that the API server has added. */
import { isRecord } from '../../dataplane/json/values.ts'

/** Whether all desired fields are there; a list must have exactly its entries. */
export function covers(live: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    if (!Array.isArray(live) || live.length !== desired.length) return false
    return desired.every((entry, index) => covers(live[index], entry))
  }
  if (isRecord(desired)) {
    return (
      isRecord(live) && Object.entries(desired).every(([name, value]) => covers(live[name], value))
    )
  }
  return live === desired
}
