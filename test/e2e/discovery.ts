/**
 * The targets that a Prometheus with Kubernetes discovery would find, with its labels. Debian's
 * build lacks discovery, so the test writes the targets to a file.
 */
import type { World } from './world.ts'

type Labels = Readonly<Record<string, string>>

interface Named {
  readonly name: string
  readonly namespace: string
  readonly labels?: Labels
}

interface Pod {
  readonly metadata: Named
  readonly spec: {
    readonly containers: readonly {
      readonly name: string
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
    }[]
  }
  readonly status: { readonly phase: string; readonly podIP?: string }
}

interface EndpointSlice {
  readonly metadata: Named
  readonly ports?: readonly { readonly name?: string; readonly port: number }[]
  readonly endpoints?: readonly {
    readonly addresses: readonly string[]
    readonly targetRef?: { readonly kind: string; readonly name: string }
  }[]
}

export interface Target {
  readonly address: string
  readonly namespace: string
  readonly labels: Labels
}

/** By the name of the role in Prometheus' discovery. */
export interface Discovered {
  readonly pod: readonly Target[]
  readonly endpointslice: readonly Target[]
}

export async function discover({ kubectl }: World): Promise<Discovered> {
  const all = async (kind: string) =>
    JSON.parse(await kubectl(['get', kind, '-A', '-o', 'json'])).items
  const pods: Pod[] = await all('pods')
  const services: { metadata: Named }[] = await all('services')
  const slices: EndpointSlice[] = await all('endpointslices')
  const endpointslice = slices.flatMap((slice) => {
    const { namespace, labels = {} } = slice.metadata
    const name = labels['kubernetes.io/service-name']
    const ofSlice = ({ metadata }: { metadata: Named }) =>
      metadata.namespace === namespace && metadata.name === name
    const service = services.find(ofSlice)?.metadata
    return service === undefined ? [] : endpointsOf(slice, service, pods)
  })
  return { pod: pods.flatMap((pod) => portsOf(pod)), endpointslice }
}

/** Each port that a container declares. */
function portsOf(pod: Pod): Target[] {
  const { podIP } = pod.status
  if (podIP === undefined) return []
  return pod.spec.containers.flatMap(({ name, ports = [] }) =>
    ports.map((port) => ({
      address: `${podIP}:${port.containerPort}`,
      namespace: pod.metadata.namespace,
      labels: {
        ...labelsOfPod(pod),
        pod_container_name: name,
        pod_container_port_name: port.name ?? '',
      },
    })),
  )
}

function endpointsOf(slice: EndpointSlice, service: Named, pods: readonly Pod[]): Target[] {
  const { ports = [], endpoints = [] } = slice
  const { namespace } = service
  return endpoints.flatMap(({ addresses, targetRef }) => {
    const isTarget = ({ metadata }: Pod) =>
      metadata.namespace === namespace && metadata.name === targetRef?.name
    const pod = pods.find(isTarget)
    return ports.map(({ name = '', port }) => ({
      address: `${addresses[0]}:${port}`,
      namespace,
      labels: {
        ...(pod && labelsOfPod(pod)),
        pod_container_name: pod?.spec.containers[0]?.name ?? '',
        service_name: service.name,
        endpointslice_port_name: name,
        ...prefixed('service_label_', service.labels),
      },
    }))
  })
}

function labelsOfPod({ metadata, status }: Pod): Labels {
  return {
    pod_name: metadata.name,
    pod_phase: status.phase,
    ...prefixed('pod_label_', metadata.labels),
  }
}

function prefixed(prefix: string, labels: Labels = {}): Labels {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [prefix + labelName(key), value]),
  )
}

/** A name in the form that Prometheus allows. */
export function labelName(key: string): string {
  return key.replace(/[^a-zA-Z0-9_]/g, '_')
}
