/** Objects of the API server as JSON: the common members, and the form of their path. */
import { isRecord } from '../../dataplane/json/values.ts'

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  /** Opaque, except when the watch checks whether it went back. */
  readonly resourceVersion?: string
  readonly generation?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly ownerReferences?: readonly OwnerReference[]
}

/** Raw JSON of the API server; a typed model would drop the fields of newer servers. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: Metadata
  readonly [field: string]: unknown
}

export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
}

export const RESOURCES = {
  gatewayConfigs: resource('inference.gw', 'v1', 'gatewayconfigs', 'GatewayConfig'),
  gatewayKeys: resource('inference.gw', 'v1', 'gatewaykeys', 'GatewayKey'),
  tenantPolicies: resource('inference.gw', 'v1alpha1', 'tenantpolicies', 'TenantPolicy'),
  deployments: resource('apps', 'v1', 'deployments', 'Deployment'),
  replicaSets: resource('apps', 'v1', 'replicasets', 'ReplicaSet'),
  pods: resource('', 'v1', 'pods', 'Pod'),
  services: resource('', 'v1', 'services', 'Service'),
  configMaps: resource('', 'v1', 'configmaps', 'ConfigMap'),
  secrets: resource('', 'v1', 'secrets', 'Secret'),
  endpointSlices: resource('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice'),
  serviceAccounts: resource('', 'v1', 'serviceaccounts', 'ServiceAccount'),
  budgets: resource('policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget'),
  networkPolicies: resource('networking.k8s.io', 'v1', 'networkpolicies', 'NetworkPolicy'),
  autoscalers: resource('autoscaling', 'v2', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler'),
  httpRoutes: resource('gateway.networking.k8s.io', 'v1', 'httproutes', 'HTTPRoute'),
  inferencePools: resource('inference.networking.k8s.io', 'v1', 'inferencepools', 'InferencePool'),
  leases: resource('coordination.k8s.io', 'v1', 'leases', 'Lease'),
  events: resource('events.k8s.io', 'v1', 'events', 'Event'),
  definitions: resource(
    'apiextensions.k8s.io',
    'v1',
    'customresourcedefinitions',
    'CustomResourceDefinition',
  ),
  webhookConfigurations: resource(
    'admissionregistration.k8s.io',
    'v1',
    'validatingwebhookconfigurations',
    'ValidatingWebhookConfiguration',
  ),
} as const satisfies Readonly<Record<string, Resource>>

function resource(group: string, version: string, plural: string, kind: string): Resource {
  return { group, version, plural, kind }
}

export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}

/** Namespace and name of one object; without a namespace its collection in the whole cluster. */
export interface ObjectPlace {
  readonly namespace?: string | undefined
  readonly name?: string
  readonly subresource?: string | undefined
}

export function pathOf(resource: Resource, { namespace, name, subresource }: ObjectPlace): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`
  const parts = [root, resource.version]
  if (namespace !== undefined) parts.push('namespaces', encodeURIComponent(namespace))
  parts.push(resource.plural)
  if (name !== undefined) parts.push(encodeURIComponent(name))
  if (subresource !== undefined) parts.push(subresource)
  return parts.join('/')
}

/** `namespace/name`: the key of an object in stores and queues. */
export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

export function isKubeObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value.metadata) && typeof value.metadata.name === 'string'
}
