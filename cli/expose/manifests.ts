/**
 * Manifests for a controller in front of the gateway, so that it cuts no stream, repeats no request and reuses no
 * dead connection.
 */

import { HTTP_ROUTE, routeTo } from '../../operator/workload/route.ts'
import type { Front } from './fronts.ts'

export interface Exposed {
  /** The name of the gateway and of its Service. */
  readonly name: string
  readonly namespace: string
  readonly port: number
  readonly host: string
  /** The Gateway in front, of the Gateway API or of Istio. */
  readonly parent: { readonly name: string; readonly namespace?: string }
  /** Whether `spec.route` is set, so that the operator creates the HTTPRoute. */
  readonly hasRoute: boolean
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: object
  readonly [field: string]: unknown
}

interface Recipe {
  /** Effect and conditions of the manifest. */
  readonly says: string
  readonly manifests: (exposed: Exposed) => readonly Manifest[]
}

const metadataOf = (
  { name, namespace }: Exposed,
  annotations?: Readonly<Record<string, string>>,
) => ({
  name,
  namespace,
  ...(annotations && { annotations }),
})

/** Closes idle connections long before the gateway would close them. */
const IDLE = '60s'

function httpRoute(exposed: Exposed): readonly Manifest[] {
  const { name, port, host, parent, hasRoute } = exposed
  if (hasRoute) return []
  const spec = routeTo({ name, port }, { parentRefs: [parent], hostnames: [host] })
  return [{ ...HTTP_ROUTE, metadata: metadataOf(exposed), spec }]
}

const istio: Recipe = {
  says: 'Istio: no retries (the gateway retries itself), and no connection that the gateway has closed.',
  manifests(exposed) {
    const { name, namespace, port, host, parent } = exposed
    const service = `${name}.${namespace}.svc.cluster.local`
    return [
      {
        apiVersion: 'networking.istio.io/v1',
        kind: 'VirtualService',
        metadata: metadataOf(exposed),
        spec: {
          hosts: [host],
          gateways: [parent.namespace ? `${parent.namespace}/${parent.name}` : parent.name],
          http: [
            {
              match: [{ uri: { prefix: '/v1' } }],
              route: [{ destination: { host: service, port: { number: port } } }],
              retries: { attempts: 0 },
            },
          ],
        },
      },
      {
        apiVersion: 'networking.istio.io/v1',
        kind: 'DestinationRule',
        metadata: metadataOf(exposed),
        spec: {
          host: service,
          trafficPolicy: { connectionPool: { http: { idleTimeout: IDLE } } },
        },
      },
    ]
  },
}

const envoyGateway: Recipe = {
  says: 'Envoy Gateway: without the route its 15 s cut every stream.',
  manifests: (exposed) => [
    ...httpRoute(exposed),
    {
      apiVersion: 'gateway.envoyproxy.io/v1alpha1',
      kind: 'BackendTrafficPolicy',
      metadata: metadataOf(exposed),
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: exposed.name }],
        timeout: { http: { connectionIdleTimeout: IDLE } },
      },
    },
  ],
}

const alb: Recipe = {
  says:
    'AWS load balancer controller: 10 minutes of silence, and probes of /readyz. So that a roll waits for the targets, ' +
    'label the namespace elbv2.k8s.aws/pod-readiness-gate-inject=enabled.',
  manifests: (exposed) => [
    ingress(exposed, 'alb', {
      'alb.ingress.kubernetes.io/target-type': 'ip',
      'alb.ingress.kubernetes.io/healthcheck-path': '/readyz',
      'alb.ingress.kubernetes.io/load-balancer-attributes': 'idle_timeout.timeout_seconds=600',
    }),
  ],
}

const gke: Recipe = {
  says:
    'GKE Gateway: its 30 s become an hour, and probes ask /readyz. ' +
    'If spec.networkPolicy.clients is written, it needs 35.191.0.0/16 and 130.211.0.0/22.',
  manifests(exposed) {
    const targetRef = { group: '', kind: 'Service', name: exposed.name }
    const policy = (kind: string, settings: object) => ({
      apiVersion: 'networking.gke.io/v1',
      kind,
      metadata: metadataOf(exposed),
      spec: { default: settings, targetRef },
    })
    const check = { portSpecification: 'USE_SERVING_PORT', requestPath: '/readyz' }
    const probe = { type: 'HTTP', httpHealthCheck: check }
    return [
      ...httpRoute(exposed),
      policy('GCPBackendPolicy', { timeoutSec: 3600 }),
      policy('HealthCheckPolicy', { config: probe }),
    ]
  },
}

const agc: Recipe = {
  says: 'Azure Application Gateway for Containers: without the route its 60 s cut every stream. It probes as the kubelet does.',
  manifests: httpRoute,
}

const nginx: Recipe = {
  says: 'NGINX (the controllers of F5 and of Kubernetes): bodies of 16 MiB, and an hour of silence.',
  manifests: (exposed) => [
    ingress(exposed, 'nginx', {
      'nginx.org/client-max-body-size': '16m',
      'nginx.org/proxy-read-timeout': '1h',
      'nginx.ingress.kubernetes.io/proxy-body-size': '16m',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    }),
  ],
}

const openshift: Recipe = {
  says: 'OpenShift: 10 minutes of silence instead of 30 s. TLS ends at the router.',
  manifests: (exposed) => [
    {
      apiVersion: 'route.openshift.io/v1',
      kind: 'Route',
      metadata: metadataOf(exposed, { 'haproxy.router.openshift.io/timeout': '10m' }),
      spec: {
        host: exposed.host,
        path: '/v1',
        to: { kind: 'Service', name: exposed.name, weight: 100 },
        port: { targetPort: 'http' },
        tls: { termination: 'edge', insecureEdgeTerminationPolicy: 'Redirect' },
      },
    },
  ],
}

function ingress(
  exposed: Exposed,
  ingressClassName: string,
  annotations: Readonly<Record<string, string>>,
): Manifest {
  const { name, port, host } = exposed
  const backend = { service: { name, port: { number: port } } }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadataOf(exposed, annotations),
    spec: {
      ingressClassName,
      rules: [{ host, http: { paths: [{ path: '/v1', pathType: 'Prefix', backend }] } }],
    },
  }
}

export const RECIPES = {
  istio,
  'envoy-gateway': envoyGateway,
  alb,
  gke,
  agc,
  nginx,
  openshift,
} as const satisfies Readonly<Record<Front, Recipe>>
