/**
 * Translates a ServiceMonitor and a PodMonitor for a Prometheus without the Prometheus operator.
 */
import { type Discovered, labelName, type Target } from './discovery.ts'

interface Relabeling {
  readonly sourceLabels?: readonly string[]
  readonly targetLabel?: string
}

interface Endpoint {
  readonly port: string
  readonly interval: string
  readonly relabelings?: readonly Relabeling[]
}

/** As `helm template` renders it. */
export interface Monitor {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly namespaceSelector?: { readonly any?: boolean; readonly matchNames?: readonly string[] }
    readonly endpoints?: readonly Endpoint[]
    readonly podMetricsEndpoints?: readonly Endpoint[]
  }
}

/** The object with a label of discovery: the Service, or the pod itself. */
const KINDS = {
  ServiceMonitor: {
    role: 'endpointslice',
    label: '__meta_kubernetes_service_label_',
    port: '__meta_kubernetes_endpointslice_port_name',
    job: '__meta_kubernetes_service_name',
  },
  PodMonitor: {
    role: 'pod',
    label: '__meta_kubernetes_pod_label_',
    port: '__meta_kubernetes_pod_container_port_name',
    job: undefined,
  },
} as const

export function scrapeConfigsOf(monitors: readonly Monitor[], found: Discovered): object[] {
  return monitors.flatMap((monitor) => {
    const { endpoints = [], podMetricsEndpoints = [] } = monitor.spec
    return [...endpoints, ...podMetricsEndpoints].map((endpoint) =>
      scrapeOf(monitor, endpoint, found),
    )
  })
}

function scrapeOf({ kind, metadata, spec }: Monitor, endpoint: Endpoint, found: Discovered) {
  if (kind !== 'ServiceMonitor' && kind !== 'PodMonitor') throw new Error(`No monitor: ${kind}.`)
  const { role, label, port, job } = KINDS[kind]
  const name = `${metadata.namespace}/${metadata.name}`
  const { any = false, matchNames = [metadata.namespace] } = spec.namespaceSelector ?? {}
  return {
    job_name: `${kind}/${name}`,
    scrape_interval: endpoint.interval,
    static_configs: found[role]
      .filter(({ namespace }) => any || matchNames.includes(namespace))
      .map(targetOf),
    relabel_configs: [
      ...Object.entries(spec.selector.matchLabels).map(([key, value]) =>
        keep(label + labelName(key), value),
      ),
      keep(port, endpoint.port),
      keep('__meta_kubernetes_pod_phase', 'Pending|Running'),
      copy('__meta_kubernetes_namespace', 'namespace'),
      copy('__meta_kubernetes_pod_name', 'pod'),
      copy('__meta_kubernetes_pod_container_name', 'container'),
      job === undefined ? { target_label: 'job', replacement: name } : copy(job, 'job'),
      { target_label: 'endpoint', replacement: endpoint.port },
      ...(endpoint.relabelings ?? []).map(({ sourceLabels, targetLabel }) => ({
        source_labels: sourceLabels,
        target_label: targetLabel,
      })),
    ],
  }
}

/** With labels that exist only for the rules above. */
function targetOf({ address, namespace, labels }: Target): object {
  const entries = Object.entries({ namespace, ...labels })
  const meta = entries.map(([name, value]) => [`__meta_kubernetes_${name}`, value])
  return { targets: [address], labels: Object.fromEntries(meta) }
}

function keep(label: string, regex: string): object {
  return { action: 'keep', source_labels: [label], regex }
}

function copy(from: string, to: string): object {
  return { source_labels: [from], target_label: to }
}
