/** Client wires that upstreams do not support, contrary to their settings. */
import type { TargetState } from '../live/target-state.ts'

const lacking = new WeakMap<TargetState, Set<string>>()

export function isLacking(state: TargetState, wire: string): boolean {
  return lacking.get(state)?.has(wire) === true
}

export function noteLacking(state: TargetState, wire: string): void {
  const known = lacking.get(state)
  if (known === undefined) lacking.set(state, new Set([wire]))
  else known.add(wire)
}
