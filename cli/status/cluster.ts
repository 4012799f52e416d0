/** The state of a gateway in a cluster: conditions, address, replicas, and the configuration of each pod. */
import { GatewayStatus, type PodStatus } from '../../crds/gateway-config.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { type ClusterAccess, findGateway, listAll, withCluster } from '../asking/cluster-access.ts'
import type { InCluster } from '../asking/place.ts'
import { relativeTime } from '../printing/ages.ts'
import { conditionState, paint, state as stateCell, yesOrNo } from '../printing/colours.ts'
import { printLine } from '../printing/output.ts'
import { printFacts, printTable } from '../printing/tables/table.ts'
import { endpointLines, sharesLines } from '../printing/tables/upstreams-text.ts'
import { askPods, storesOf } from './pod-answers.ts'
import { upstreamsOf } from './pod-upstreams.ts'
import type { Seen } from './seen.ts'
import { printUpstreams } from './upstreams-table.ts'

const HASH_LENGTH = 12

export async function clusterStatus(place: InCluster, ofAll: boolean): Promise<Seen> {
  return await withCluster(place, async (access) => {
    if (ofAll) return listOf(await listAll({ api: access.api, namespace: undefined }, KIND))
    if (access.gateway !== undefined) return await oneOf(access, place)
    const all = await listAll(access, KIND)
    return all.length > 1 ? listOf(all) : await oneOf(access, place)
  })
}

const KIND = 'gatewayConfigs'

async function oneOf(access: ClusterAccess, place: InCluster): Promise<Seen> {
  const gateway = await findGateway(access)
  const { name, namespace, generation = 0 } = gateway.metadata
  const { status, isReady } = standOf(gateway)
  const answers = await askPods(access, gateway, place)
  const stores = storesOf(gateway, answers)
  const upstreams = upstreamsOf(answers)
  const refusing = stores.filter(({ state, failOpen }) => state === 'away' && !failOpen)
  return {
    ready: isReady && refusing.length === 0,
    value: { name, namespace, generation, ...status, stores, upstreams: upstreams.value },
    essence: { generation, status, stores: stores.map(({ pod, state }) => `${pod} ${state}`) },
    names: [nameOf(gateway)],
    print(isWide) {
      print(gateway, status, isWide)
      if (upstreams.rows.length > 0) {
        printLine('')
        printUpstreams(upstreams.rows, isWide)
      }
      for (const line of endpointLines(upstreams.value)) printLine(line)
      for (const line of sharesLines(upstreams.value)) printLine(line)
      for (const { pod, failOpen } of stores.filter(({ state }) => state === 'away')) {
        const meanwhile = failOpen ? 'it admits its own share' : 'it answers 503'
        printLine(`\n${paint('store:', 'red', process.stdout)} away from pod ${pod}; ${meanwhile}`)
      }
      for (const { pod, settlementsWaiting: count } of stores) {
        if (count > 0) printLine(`store: ${count} settlements of pod ${pod} wait for it`)
      }
    },
  }
}

function standOf(gateway: KubeObject) {
  const status = GatewayStatus.parse(gateway.status ?? {})
  const ready = status.conditions.find(({ type }) => type === 'Ready')
  const isCurrent = (status.observedGeneration ?? 0) >= (gateway.metadata.generation ?? 0)
  return { status, isReady: isCurrent && ready?.status === 'True' }
}

/** Several gateways, a line each; ready if all of them are. */
function listOf(all: readonly KubeObject[]): Seen {
  const gateways = all.map((gateway) => {
    const { status, isReady } = standOf(gateway)
    const of = (type: string) => status.conditions.find((condition) => condition.type === type)
    const { name, namespace, generation = 0 } = gateway.metadata
    return {
      namespace,
      name,
      ready: isReady,
      reason: of('Ready')?.reason ?? 'Pending',
      degraded: of('Degraded')?.status ?? 'Unknown',
      replicas: status.replicas ?? 0,
      ready_replicas: status.readyReplicas ?? 0,
      generation,
    }
  })
  return {
    ready: gateways.every(({ ready }) => ready),
    value: { gateways },
    essence: gateways,
    names: all.map(nameOf),
    print(isWide) {
      if (gateways.length === 0) return printLine('There is no GatewayConfig.')
      const head = ['NAMESPACE', 'NAME', 'READY', 'REASON', 'DEGRADED', 'REPLICAS']
      const rows = gateways.map((one) => [
        one.namespace,
        one.name,
        yesOrNo(one.ready),
        one.reason,
        conditionState('Degraded', one.degraded),
        `${one.ready_replicas}/${one.replicas}`,
      ])
      printTable(head, rows, isWide)
    },
  }
}

function print({ metadata }: KubeObject, status: GatewayStatus, isWide: boolean): void {
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
  printFacts(facts)
  printLine('')
  printTable(
    ['CONDITION', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'],
    status.conditions.map(({ type, status: holds, lastTransitionTime: since, reason, message }) => [
      type,
      conditionState(type, holds),
      reason,
      relativeTime(since),
      message,
    ]),
    isWide,
    ['SINCE'],
  )
  for (const { severity, path, message, fix } of status.problems) {
    const colour = severity === 'error' ? 'red' : 'yellow'
    printLine(
      `\n${paint(`${severity}:`, colour, process.stdout)} ${path}: ${message}\n    fix: ${fix}`,
    )
  }
  if (status.pods.length === 0) return
  printLine('')
  const head = ['POD', 'READY', 'STATE', 'HASH', 'GEN', 'LAST ERROR']
  printTable(head, status.pods.map(rowOf), isWide, ['GEN', 'HASH'])
}

/** The form that kubectl and `gw wait` accept. */
function nameOf({ metadata }: KubeObject): string {
  return `gatewayconfig.inference.gw/${metadata.name}`
}

function rowOf({ name, ready, state, hash, generation, error }: PodStatus) {
  return [name, yesOrNo(ready), stateCell(state ?? 'Pending'), shortened(hash), generation, error]
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
