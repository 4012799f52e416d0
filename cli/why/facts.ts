/** The facts of all pods of a gateway, and of its objects in a cluster, as one account. */
import type { AskedAbout, Flow, IncidentFacts } from '../../dataplane/why/facts.ts'
import { askEach, withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { type ClusterFacts, clusterFacts, NO_CLUSTER } from './cluster-facts.ts'
import { factsOfPod, type PodFacts, type Span } from './pod-facts.ts'

export async function factsAt(place: Place, asked: AskedAbout, span: Span): Promise<IncidentFacts> {
  const { answers, silent } = await askPods(place, span)
  const cluster = place.kind === 'cluster' ? await clusterFacts(place, span) : NO_CLUSTER
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
  // The history counts from a whole minute.
  const events = [...counting.flatMap((one) => one.events), ...cluster.events].filter(
    ({ at }) => at >= span.since && at <= span.until,
  )
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
