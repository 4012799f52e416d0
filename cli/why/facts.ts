/** The facts of all pods of a gateway, and of its objects in a cluster, as one account. */
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { textOf, valueBelow } from '../../dataplane/json/values.ts'
import type {
  AskedAbout,
  FactCondition,
  FactEvent,
  Flow,
  IncidentFacts,
} from '../../dataplane/why/facts.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { askEach, withGateways } from '../asking/asked-gateways.ts'
import { findGateway, listAll, withCluster } from '../asking/cluster-access.ts'
import type { InCluster, Place } from '../asking/place.ts'
import { factsOfPod, type PodFacts, type Span } from './pod-facts.ts'

/** Kubernetes may keep thousands of events of other objects. */
const CLUSTER_EVENTS_MAX = 500

export async function factsAt(place: Place, asked: AskedAbout, span: Span): Promise<IncidentFacts> {
  const { answers, silent } = await askPods(place, span)
  const cluster = place.kind === 'cluster' ? await clusterFacts(place, span) : NOTHING
  return joined(answers, { asked, span, silent, cluster })
}

/** If no pod runs, the objects of the cluster still tell why. */
async function askPods(place: Place, span: Span) {
  try {
    return await withGateways(place, (gateways) =>
      askEach(gateways, (gateway) => factsOfPod(gateway, span)),
    )
  } catch (error) {
    if (place.kind !== 'cluster') throw error
    return { answers: [], silent: [(error as Error).message] }
  }
}

interface ClusterFacts {
  readonly conditions: readonly FactCondition[]
  readonly events: readonly FactEvent[]
  readonly missing: readonly string[]
}

const NOTHING: ClusterFacts = { conditions: [], events: [], missing: [] }

async function clusterFacts(place: InCluster, span: Span): Promise<ClusterFacts> {
  return await withCluster(place, async (access) => {
    const gateway = await findGateway(access)
    const { conditions } = GatewayStatus.parse(gateway.status ?? {})
    const facts = conditions.map(({ type, status, reason, message, lastTransitionTime }) => ({
      ...{ type, status, reason, message },
      since: Date.parse(lastTransitionTime),
    }))
    try {
      const all = await listAll(access, 'events')
      const own = all.filter((one) => isOf(one, gateway)).slice(-CLUSTER_EVENTS_MAX)
      const events = own.map(clusterEvent).filter(({ at }) => at >= span.since && at <= span.until)
      return { conditions: facts, events, missing: [] }
    } catch (error) {
      const missing = [`the events of the namespace (${(error as Error).message})`]
      return { conditions: facts, events: [], missing }
    }
  })
}

/** Whether it is about the GatewayConfig or an object with its name: Deployment, ReplicaSet, pod. */
function isOf(event: KubeObject, { metadata: { name } }: KubeObject): boolean {
  const about = textOf(valueBelow(event, 'regarding', 'name')) ?? ''
  return about === name || about.startsWith(`${name}-`)
}

function clusterEvent(event: KubeObject): FactEvent {
  const reason = textOf(valueBelow(event, 'reason')) ?? ''
  const note = textOf(valueBelow(event, 'note')) ?? ''
  const about = textOf(valueBelow(event, 'regarding', 'name')) ?? ''
  const times = [
    valueBelow(event, 'series', 'lastObservedTime'),
    valueBelow(event, 'eventTime'),
    valueBelow(event, 'deprecatedLastTimestamp'),
    event.metadata.creationTimestamp,
  ].map((time) => Date.parse(textOf(time) ?? ''))
  const at = times.find((time) => !Number.isNaN(time)) ?? 0
  return { at, event: 'cluster', message: note, fields: { reason, object: about } }
}

interface Parts {
  readonly asked: AskedAbout
  readonly span: Span
  readonly silent: readonly string[]
  readonly cluster: ClusterFacts
}

export function joined(
  pods: readonly PodFacts[],
  { asked, span, silent, cluster }: Parts,
): IncidentFacts {
  // Each pod answers with the sum of all, if they share it.
  const shared = pods.find(({ isShared }) => isShared)
  const counting = shared === undefined ? pods : [shared]
  const events = [...counting.flatMap((one) => one.events), ...cluster.events]
  return {
    ...span,
    asked,
    flows: summed(counting.flatMap(({ flows }) => flows)),
    events: events.toSorted((one, other) => one.at - other.at),
    requests: pods.flatMap(({ requests }) => requests),
    upstreams: pods.flatMap(({ upstreams }) => upstreams),
    stores: pods.map(({ store }) => store),
    aliases: Object.assign({}, ...pods.map(({ aliases }) => aliases)),
    clocks: pods.flatMap(({ pod, aheadMs }) => (aheadMs === undefined ? [] : [{ pod, aheadMs }])),
    conditions: cluster.conditions,
    missing: [
      ...silent,
      ...pods.flatMap(({ pod, missing }) => (missing === undefined ? [] : [`${pod}: ${missing}`])),
      ...cluster.missing,
    ],
  }
}

function summed(flows: readonly Flow[]): Flow[] {
  const byName = Map.groupBy(flows, ({ by, name }) => `${by} ${name}`)
  return [...byName.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const at = Map.groupBy(
      [first, ...others].flatMap(({ minutes }) => minutes),
      (minute) => minute.at,
    )
    const minutes = [...at].map(([time, some]) => {
      const sum = (name: 'requests' | 'client' | 'limit' | 'upstream' | 'gateway') =>
        some.reduce((total, minute) => total + minute[name], 0)
      return {
        at: time,
        requests: sum('requests'),
        client: sum('client'),
        limit: sum('limit'),
        upstream: sum('upstream'),
        gateway: sum('gateway'),
      }
    })
    return [{ ...first, minutes }]
  })
}
