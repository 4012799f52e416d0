/** The Service and NetworkPolicy of a gateway: how its pods are reached, and by which peers. */
import { PUSH_PORT } from '../../dataplane/delivery/signed.ts'
import type { ListenerSecurity } from '../compile/needs.ts'
import { fitsService, GATEWAY_LABEL, metadataOf, names } from '../kube/names.ts'
import type { KubeObject } from '../kube/objects.ts'
import { egressOf } from './egress.ts'
import type { WorkloadSettings } from './settings.ts'

const METRICS_PORT = 9090

export function serviceOf(settings: WorkloadSettings): KubeObject {
  const { gateway, spec, needs } = settings
  const { type, port: _, annotations, ...more } = spec.service
  const port = servicePortOf(settings)
  const name = clientPortName(needs.listener)
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadataOf(gateway, gateway.metadata.name), annotations },
    spec: {
      type,
      ...more,
      selector: { [GATEWAY_LABEL]: gateway.metadata.name },
      // By name: while pods with two ports exist, each is called at its own.
      ports: [
        {
          name,
          port,
          targetPort: name,
          protocol: 'TCP',
          ...(name === 'https' && { appProtocol: name }),
        },
        ...(isInside(spec) ? [metricsPort(port)] : []),
      ],
    },
  }
}

/** Meshes and Gateways read the protocol from it; pods of another protocol are not selected. */
export function clientPortName(listener: ListenerSecurity): 'http' | 'https' {
  return listener === 'plain' ? 'http' : 'https'
}

export function servicePortOf({ spec, needs }: Pick<WorkloadSettings, 'spec' | 'needs'>): number {
  return spec.service.port ?? (needs.listener === 'plain' ? 80 : 443)
}

/** A Service for outside clients does not expose metrics; this one has the port instead. */
export function metricsServiceOf({ gateway, spec }: WorkloadSettings): KubeObject | undefined {
  if (isInside(spec) || !fitsService(names.metrics(gateway.metadata.name))) return undefined
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(gateway, names.metrics(gateway.metadata.name)),
    spec: {
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: { [GATEWAY_LABEL]: gateway.metadata.name },
      ports: [metricsPort(0)],
    },
  }
}

function isInside({ service }: WorkloadSettings['spec']): boolean {
  return service.type === 'ClusterIP'
}

/** Readers of metrics find pods by the ports of a Service; a port of clients has priority. */
function metricsPort(taken: number) {
  const port = taken === METRICS_PORT ? METRICS_PORT + 1 : METRICS_PORT
  return { name: 'metrics', port, targetPort: 'metrics', protocol: 'TCP' }
}

export function serviceAccountOf({ gateway, spec }: WorkloadSettings): KubeObject {
  const { annotations } = spec.serviceAccount
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...metadataOf(gateway, gateway.metadata.name), annotations },
    automountServiceAccountToken: false,
  }
}

/**
 * Clients and metrics as the user configures, the push port only for the operator; out to the destinations of the
 * configuration.
 */
export function networkPolicyOf(settings: WorkloadSettings): KubeObject | undefined {
  const { gateway, spec, needs, release } = settings
  const { enabled, clients, metrics } = spec.networkPolicy
  if (!enabled) return undefined
  const rule = (port: number, from: readonly unknown[] | undefined) => ({
    ports: [{ port, protocol: 'TCP' }],
    ...(from === undefined ? {} : { from }),
  })
  const operator = {
    namespaceSelector: {
      matchLabels: { 'kubernetes.io/metadata.name': release.operatorNamespace },
    },
    podSelector: { matchLabels: { 'app.kubernetes.io/component': 'operator' } },
  }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(gateway, gateway.metadata.name),
    spec: {
      podSelector: { matchLabels: { [GATEWAY_LABEL]: gateway.metadata.name } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        // An empty list of peers means no peer here; Kubernetes would read it as every peer.
        ...(clients?.length === 0 ? [] : [rule(needs.ports.listen, clients)]),
        ...(metrics?.length === 0 ? [] : [rule(needs.ports.metrics, metrics)]),
        rule(PUSH_PORT, [operator]),
      ],
      egress: egressOf(settings),
    },
  }
}
