/** The managers that wrote an object after the operator did, by the bookkeeping of the API server. */
import { listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import { MANAGER } from '../kube/names.ts'
import type { KubeObject } from '../kube/objects.ts'

/** A foreign write to the operator's fields, which it reverts. */
export interface Edit {
  readonly kind: string
  readonly name: string
  /** Names of managers, the newest first; empty: they are unknown. */
  readonly managers: readonly string[]
}

/** Prefix of the operator's own managers. */
const OURS = /^gw-operator(-|$)/

/** `desired`: the operator's desired object; a number of pods that it does not name is not an edit. */
export function editorsOf(
  object: KubeObject,
  desired?: { readonly [member: string]: unknown },
): string[] {
  const wanted = valueBelow(desired, 'spec', 'replicas')
  const isScaled = wanted !== undefined && valueBelow(object, 'spec', 'replicas') !== wanted
  const entries = listBelow(object, 'metadata', 'managedFields').map((one) => ({
    manager: textOf(valueBelow(one, 'manager')) ?? '',
    time: Date.parse(textOf(valueBelow(one, 'time')) ?? '') || 0,
    subresource: textOf(valueBelow(one, 'subresource')),
  }))
  const own = entries.filter(({ manager }) => manager === MANAGER).map(({ time }) => time)
  const since = Math.max(0, ...own)
  const others = entries.filter(({ manager, subresource, time }) => {
    if (OURS.test(manager) || manager === '' || subresource === 'status') return false
    // The API server may record no time for a write to the scale, and leave an old one.
    return subresource === 'scale' ? isScaled : time >= since
  })
  const order = ({ subresource, time }: (typeof entries)[number]) =>
    subresource === 'scale' ? Number.MAX_VALUE : time
  const newest = others.toSorted((one, other) => order(other) - order(one))
  return [...new Set(newest.map(({ manager }) => manager))]
}

export function showEdit({ kind, name, managers }: Edit): string {
  const by = managers.length === 0 ? 'by hand' : `by ${managers.slice(0, 3).join(', ')}`
  return `${kind} ${name} was changed ${by}, and is reverted. Change the GatewayConfig instead.`
}
