/** The facts that the cluster has of a gateway: conditions, events, replaced pods, and who leads the operators. */
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { FactCondition, FactEvent } from '../../dataplane/why/facts.ts'
import { isStatus } from '../../operator/kube/api-error.ts'
import { GATEWAY_LABEL, LEASE_NAME } from '../../operator/kube/names.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { type ClusterAccess, findGateway, listAll, withCluster } from '../asking/cluster-access.ts'
import type { InCluster } from '../asking/place.ts'
import { leaderFacts } from './leader-facts.ts'
import type { Span } from './pod-facts.ts'
import { rollEvents } from './roll-events.ts'

/** Kubernetes may keep thousands of events of other objects. */
const CLUSTER_EVENTS_MAX = 500
const LISTED_MAX = 100

export interface ClusterFacts {
  readonly conditions: readonly FactCondition[]
  readonly events: readonly FactEvent[]
  readonly missing: readonly string[]
}

export const NO_CLUSTER: ClusterFacts = { conditions: [], events: [], missing: [] }

export async function clusterFacts(place: InCluster, span: Span): Promise<ClusterFacts> {
  return await withCluster(place, async (access) => {
    const gateway = await findGateway(access)
    const found = { ...access, namespace: gateway.metadata.namespace ?? access.namespace }
    const parts = await Promise.all([
      part('the events of the namespace', () => eventsOf(found, gateway)),
      part('the ReplicaSets of the gateway', () => rollsOf(found, gateway)),
      part('the lease of the operators', () => leaderOf(found, span.until)),
    ])
    const events = parts.flatMap((one) => one.events)
    return {
      conditions: [...conditionsOf(gateway), ...parts.flatMap((one) => one.conditions)],
      events: events.filter(({ at }) => at >= span.since && at <= span.until),
      missing: parts.flatMap((one) => one.missing),
    }
  })
}

/** A source that does not answer costs only itself. Without the permission it is no part of the user's cluster. */
async function part(
  what: string,
  ask: () => Promise<Partial<ClusterFacts>>,
): Promise<ClusterFacts> {
  try {
    return { ...NO_CLUSTER, ...(await ask()) }
  } catch (error) {
    if (isStatus(error, 403) && what !== 'the events of the namespace') return NO_CLUSTER
    return { ...NO_CLUSTER, missing: [`${what} (${(error as Error).message})`] }
  }
}

function conditionsOf(gateway: KubeObject): FactCondition[] {
  const { conditions, observedGeneration = 0 } = GatewayStatus.parse(gateway.status ?? {})
  const facts = conditions.map(({ type, status, reason, message, lastTransitionTime }) => ({
    ...{ type, status, reason, message },
    since: Date.parse(lastTransitionTime),
  }))
  const { generation = 0 } = gateway.metadata
  if (generation <= observedGeneration) return facts
  const message =
    `No operator has read generation ${generation} of the GatewayConfig; ` +
    `the pods enforce generation ${observedGeneration} or an older one.`
  const unread = { type: 'Observed', status: 'False', reason: 'OperatorAway', message }
  return [...facts, { ...unread, since: writtenAt(gateway) }]
}

/** When its spec was written last. */
function writtenAt(gateway: KubeObject): number {
  const entries = valueBelow(gateway, 'metadata', 'managedFields')
  const times = (Array.isArray(entries) ? entries : []).flatMap((entry) => {
    const time = Date.parse(textOf(valueBelow(entry, 'time')) ?? '')
    return valueBelow(entry, 'subresource') === 'status' || Number.isNaN(time) ? [] : [time]
  })
  return Math.max(Date.parse(gateway.metadata.creationTimestamp ?? '') || 0, ...times)
}

async function eventsOf(access: ClusterAccess, gateway: KubeObject) {
  const all = await listAll(access, 'events')
  const names = referencedNames(gateway)
  const own = all.filter((one) => isOf(one, gateway) || names.has(nameOf(one)))
  return { events: own.map(clusterEvent).slice(-CLUSTER_EVENTS_MAX) }
}

/** Whether it is about the GatewayConfig or an object with its name: Deployment, ReplicaSet, pod. */
function isOf(event: KubeObject, { metadata: { name } }: KubeObject): boolean {
  const about = nameOf(event)
  return about === name || about.startsWith(`${name}-`)
}

function nameOf(event: KubeObject): string {
  return textOf(valueBelow(event, 'regarding', 'name')) ?? ''
}

/** Of Secrets, and of what makes them: it usually has the same name. */
function referencedNames({ gw }: KubeObject): ReadonlySet<string> {
  const found = JSON.stringify(gw ?? {}).matchAll(/\$\{secret:([a-z0-9.-]+)\//g)
  return new Set([...found].map(([, name = '']) => name))
}

function clusterEvent(event: KubeObject): FactEvent {
  const reason = textOf(valueBelow(event, 'reason')) ?? ''
  const note = textOf(valueBelow(event, 'note')) ?? ''
  const times = [
    valueBelow(event, 'series', 'lastObservedTime'),
    valueBelow(event, 'eventTime'),
    valueBelow(event, 'deprecatedLastTimestamp'),
    event.metadata.creationTimestamp,
  ].map((time) => Date.parse(textOf(time) ?? ''))
  const at = times.find((time) => !Number.isNaN(time)) ?? 0
  return { at, event: 'cluster', message: note, fields: { reason, object: nameOf(event) } }
}

async function rollsOf({ api, namespace }: ClusterAccess, gateway: KubeObject) {
  const selection = { namespace, labelSelector: `${GATEWAY_LABEL}=${gateway.metadata.name}` }
  const { items } = await api.list(RESOURCES.replicaSets, selection, { limit: LISTED_MAX })
  return { events: rollEvents(items) }
}

async function leaderOf({ api }: ClusterAccess, now: number) {
  const selection = { fieldSelector: `metadata.name=${LEASE_NAME}` }
  const { items } = await api.list(RESOURCES.leases, selection, { limit: LISTED_MAX })
  return leaderFacts(items, now)
}
