/** Clients' wires that upstreams turned out not to speak, though their settings say so. */
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
