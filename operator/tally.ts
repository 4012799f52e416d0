/** Counts gateways and pods by state from their statuses, so that every operator reports the same numbers. */

import { type GatewayStatus, PodStatus } from '../crds/gateway-config.ts'
import { isRecord, textOf, valueBelow } from '../dataplane/json/values.ts'
import { type KubeObject, keyOf } from './kube/objects.ts'

/** Counts by label. */
export interface Tally {
  readonly gateways: Readonly<Record<string, number>>
  readonly pods: Readonly<Record<string, number>>
  readonly each: readonly GatewayTally[]
}

/** The states of one gateway, from its conditions. */
export interface GatewayTally {
  /** NAMESPACE/NAME. */
  readonly gateway: string
  readonly isReady: boolean
  /** The reason of Degraded if it is True. */
  readonly degraded: string | undefined
  /** Counts of its pods by state, without those that enforce the newest configuration. */
  readonly behind: Readonly<Partial<Record<State, number>>>
}

type State = NonNullable<GatewayStatus['pods'][number]['state']>

const STATES: readonly State[] = PodStatus.shape.state.unwrap().options

export function tallyOf(gateways: readonly KubeObject[]): Tally {
  const ready = { true: 0, false: 0 }
  // States without gateways get a series as well, because an alert cannot distinguish a missing series from a good one.
  const pods = Object.fromEntries(STATES.map((state) => [state, 0]))
  for (const gateway of gateways) {
    ready[isReady(gateway) ? 'true' : 'false']++
    for (const [state, count] of Object.entries(countsOf(gateway))) {
      pods[state] = (pods[state] ?? 0) + count
    }
  }
  return { gateways: ready, pods, each: gateways.map(standOf) }
}

function countsOf(gateway: KubeObject): Partial<Record<State, number>> {
  const counts: Partial<Record<State, number>> = {}
  for (const { state } of entriesOf(gateway, 'pods')) {
    const known = STATES.find((one) => one === state)
    if (known !== undefined) counts[known] = (counts[known] ?? 0) + 1
  }
  return counts
}

function standOf(gateway: KubeObject): GatewayTally {
  const { Programmed: _, ...behind } = countsOf(gateway)
  const degraded = entriesOf(gateway, 'conditions').find(
    ({ type, status }) => type === 'Degraded' && status === 'True',
  )
  return {
    gateway: keyOf(gateway),
    isReady: isReady(gateway),
    degraded: textOf(degraded?.reason),
    behind,
  }
}

function isReady(gateway: KubeObject): boolean {
  return entriesOf(gateway, 'conditions').some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  )
}

function entriesOf(gateway: KubeObject, list: string) {
  const entries = valueBelow(gateway, 'status', list)
  return Array.isArray(entries) ? entries.filter(isRecord) : []
}
