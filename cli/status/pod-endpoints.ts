/** The endpoints of upstreams, over all pods of a gateway. */
import { z } from 'zod'
import {
  ENDPOINTS,
  SHARES,
  sharesTogether,
  type TenantShare,
} from '../printing/tables/upstreams-text.ts'
import type { PodAnswer } from './pod-answers.ts'

const Upstream = z.looseObject({ name: z.string(), ...ENDPOINTS, ...SHARES })
const Answer = z.looseObject({ upstreams: z.array(Upstream).default([]) })

type SeenUpstream = z.output<typeof Upstream>
type SeenEndpoint = NonNullable<SeenUpstream['endpoints']>[number]

export interface EndpointOfAll {
  readonly address: string
  /** `ready`, or another state with the number of pods that report it. */
  readonly state: string
  /** Over all pods. */
  readonly in_flight: number
  /** The newest version is unknown, so this is the largest that a pod has read. */
  readonly queue?: number | undefined
}

export interface UpstreamOfAll {
  readonly name: string
  /** Absent: the upstream has only a host name. */
  readonly endpoints?: readonly EndpointOfAll[] | undefined
  readonly cold_start?: { readonly has_endpoint: boolean; readonly waiting: number } | undefined
  readonly fairness?:
    | { readonly waiting: number; readonly tenants: readonly TenantShare[] }
    | undefined
}

/** The upstreams that have a list of endpoints or shares, or may have no server; in the order of the first pod. */
export function endpointsOf(answers: readonly PodAnswer[]): UpstreamOfAll[] {
  const seen = answers.flatMap(({ body }) => {
    const parsed = Answer.safeParse(body)
    return parsed.success ? parsed.data.upstreams : []
  })
  const listed = seen.filter(
    ({ endpoints, cold_start, fairness }) => endpoints ?? cold_start ?? fairness,
  )
  return [...Map.groupBy(listed, ({ name }) => name)].map(([name, all]) => {
    const lists = all.flatMap(({ endpoints }) => (endpoints === undefined ? [] : [endpoints]))
    const byAddress = Map.groupBy(lists.flat(), ({ address }) => address)
    const endpoints = [...byAddress.values()].map((views) => together(views, all.length))
    const fair = all.flatMap(({ fairness }) => fairness ?? [])
    const colds = all.flatMap(({ cold_start: cold }) => cold ?? [])
    return {
      name,
      ...(lists.length > 0 && { endpoints }),
      ...(fair.length > 0 && {
        fairness: {
          waiting: fair.reduce((sum, { waiting }) => sum + waiting, 0),
          tenants: sharesTogether(fair.map(({ tenants }) => tenants)),
        },
      }),
      ...(colds.length > 0 && {
        cold_start: {
          has_endpoint: colds.some(({ has_endpoint }) => has_endpoint),
          waiting: colds.reduce((sum, { waiting }) => sum + waiting, 0),
        },
      }),
    }
  })
}

function together(views: readonly SeenEndpoint[], pods: number): EndpointOfAll {
  const [first] = views as [SeenEndpoint]
  const other = views.find(({ state }) => state !== 'ready')?.state
  const count = views.filter(({ state }) => state === other).length
  const state =
    other === undefined || count === pods ? first.state : `${other} at ${count} of ${pods} pods`
  const queues = views.flatMap(({ queue }) => queue ?? [])
  return {
    address: first.address,
    state,
    in_flight: views.reduce((sum, { in_flight }) => sum + in_flight, 0),
    ...(queues.length > 0 && { queue: Math.max(...queues) }),
  }
}
