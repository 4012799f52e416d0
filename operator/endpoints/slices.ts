/** Finds the ready endpoints in the EndpointSlices of a Service. */
import { isIP } from 'node:net'
import { listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { ServicePlace } from '../compile/service-upstreams.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'
import type { Selected } from './selected-watches.ts'

export interface SliceEndpoint {
  readonly id: string
  readonly address: string
  readonly port: number
  readonly zone?: string
}

export function slicesOf({ namespace, name }: ServicePlace): Selected {
  return {
    resource: RESOURCES.endpointSlices,
    namespace,
    labelSelector: `kubernetes.io/service-name=${name}`,
    trim: trimSlice,
  }
}

/** Keeps the parts of a slice that endpoints need. */
export function trimSlice(slice: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = slice.metadata
  const endpoints = listBelow(slice, 'endpoints').map((one) => ({
    addresses: listBelow(one, 'addresses').slice(0, 1),
    conditions: valueBelow(one, 'conditions'),
    zone: valueBelow(one, 'zone'),
    targetRef: { uid: valueBelow(one, 'targetRef', 'uid') },
  }))
  const metadata = { name, namespace, uid, resourceVersion } as KubeObject['metadata']
  return { metadata, ports: slice.ports, endpoints }
}

/**
 * Sorted, each pod once: a pod with addresses of both families is in two slices, and so for a moment is one that moves
 * between slices. A pod that is not ready, or is terminating, gets no new request.
 */
export function endpointsIn(slices: readonly KubeObject[], port: number): SliceEndpoint[] {
  const found = slices.flatMap((slice) => {
    const number = portOf(slice, port)
    if (number === undefined) return []
    return listBelow(slice, 'endpoints').flatMap((one) => endpointOf(one, number))
  })
  const byId = new Map<string, SliceEndpoint>()
  const addresses = new Set<string>()
  for (const one of found.sort(byFamily)) {
    const place = `${one.address} ${one.port}`
    if (byId.has(one.id) || addresses.has(place)) continue
    byId.set(one.id, one)
    addresses.add(place)
  }
  return [...byId.values()]
}

function endpointOf(one: unknown, port: number): SliceEndpoint[] {
  const address = textOf(listBelow(one, 'addresses')[0])
  // An absent condition means true.
  const isReady = valueBelow(one, 'conditions', 'ready') !== false
  if (!isReady || address === undefined || isIP(address) === 0) return []
  const uid = textOf(valueBelow(one, 'targetRef', 'uid'))
  const zone = textOf(valueBelow(one, 'zone'))
  return [{ id: `${uid ?? address} ${port}`, address, port, ...(zone !== undefined && { zone }) }]
}

function byFamily(one: SliceEndpoint, other: SliceEndpoint): number {
  const families = isIP(one.address) - isIP(other.address)
  if (families !== 0) return families
  return one.address < other.address ? -1 : 1
}

/** The slice has the port of the pods, which may differ from that of the Service if there are several. */
function portOf(slice: KubeObject, port: number): number | undefined {
  const ports = listBelow(slice, 'ports').filter(
    (one) => typeof valueBelow(one, 'port') === 'number',
  )
  const chosen =
    ports.length === 1
      ? ports[0]
      : (ports.find((one) => valueBelow(one, 'port') === port) ??
        ports.find((one) => valueBelow(one, 'name') === 'http') ??
        ports[0])
  const number = valueBelow(chosen, 'port')
  return typeof number === 'number' ? number : undefined
}
