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
}

type State = NonNullable<GatewayStatus['pods'][number]['state']>

const STATES: readonly State[] = PodStatus.shape.state.unwrap().options

export function tallyOf(gateways: readonly KubeObject[]): Tally {
  const ready = { true: 0, false: 0 }
  // States without gateways get a series as well, because an alert cannot distinguish a missing series from a good one.
  const pods = Object.fromEntries(STATES.map((state) => [state, 0]))
  for (const gateway of gateways) {
    ready[isReady(gateway) ? 'true' : 'false']++
    for (const pod of entriesOf(gateway, 'pods')) {
      const { state } = pod
      if (typeof state === 'string' && pods[state] !== undefined) pods[state]++
    }
  }
  return { gateways: ready, pods, each: gateways.map(standOf) }
}

function standOf(gateway: KubeObject): GatewayTally {
  const degraded = entriesOf(gateway, 'conditions').find(
    ({ type, status }) => type === 'Degraded' && status === 'True',
  )
  return {
    gateway: keyOf(gateway),
    isReady: isReady(gateway),
    degraded: textOf(degraded?.reason),
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
