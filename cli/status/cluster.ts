/** How a gateway of a cluster stands: conditions, address, replicas, and what each pod enforces. */
import { GatewayStatus, type PodStatus } from '../../crds/gateway-config.ts'
import type { KubeObject } from '../../operator/objects.ts'
import { findGateway, withCluster } from '../cluster-access.ts'
import { paint, printLine, printTable } from '../output.ts'
import type { InCluster } from '../place.ts'
import type { Seen } from './show.ts'

const HASH_LENGTH = 12

export async function clusterStatus(place: InCluster): Promise<Seen> {
  const gateway = await withCluster(place, findGateway)
  const { name, namespace, generation = 0 } = gateway.metadata
  const status = GatewayStatus.parse(gateway.status ?? {})
  const ready = status.conditions.find(({ type }) => type === 'Ready')
  const isCurrent = (status.observedGeneration ?? 0) >= generation
  return {
    ready: isCurrent && ready?.status === 'True',
    value: { name, namespace, generation, ...status },
    essence: { generation, status },
    print: () => print(gateway, status),
  }
}

function print({ metadata }: KubeObject, status: GatewayStatus): void {
  const { name, namespace, generation = 0 } = metadata
  const { observedGeneration, activeHash, activeGeneration, lastKnownGoodHash } = status
  const seen =
    observedGeneration === generation ? '' : `, operator has seen ${observedGeneration ?? 'none'}`
  const facts: [string, string][] = [
    ['gateway', `${namespace}/${name}`],
    ['generation', `${generation}${seen}`],
    ['address', status.address ?? '-'],
    ['replicas', replicasOf(status)],
    ['configuration', `${shortened(activeHash)} of generation ${activeGeneration ?? '-'}`],
    ['last known good', shortened(lastKnownGoodHash)],
    ['keys', keysOf(status)],
  ]
  const width = Math.max(...facts.map(([label]) => label.length))
  for (const [label, value] of facts) printLine(`${label.padEnd(width)}  ${value}`)
  printLine('')
  printTable(
    ['CONDITION', 'STATUS', 'REASON', 'MESSAGE'],
    status.conditions.map(({ type, status: holds, reason, message }) => [
      type,
      holds,
      reason,
      message,
    ]),
  )
  for (const { severity, path, message, fix } of status.problems) {
    const colour = severity === 'error' ? 'red' : 'yellow'
    printLine(
      `\n${paint(`${severity}:`, colour, process.stdout)} ${path}: ${message}\n    fix: ${fix}`,
    )
  }
  if (status.pods.length === 0) return
  printLine('')
  printTable(['POD', 'READY', 'STATE', 'HASH', 'GENERATION', 'LAST ERROR'], status.pods.map(rowOf))
}

function rowOf({ name, ready, state, hash, generation, error }: PodStatus) {
  return [name, ready ? 'yes' : 'no', state ?? 'Pending', shortened(hash), generation, error]
}

function replicasOf({ replicas = 0, readyReplicas = 0, programmedReplicas = 0 }: GatewayStatus) {
  return `${replicas}, ${readyReplicas} ready, ${programmedReplicas} programmed`
}

function keysOf({ keys }: GatewayStatus): string {
  const { count = 0, hash } = keys ?? {}
  // Without a key there is nothing to compare.
  return count === 0 ? '0' : `${count} (${shortened(hash)})`
}

function shortened(hash: string | undefined): string {
  return hash?.slice(0, HASH_LENGTH) ?? '-'
}
