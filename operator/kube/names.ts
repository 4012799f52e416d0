/** The names of a gateway's objects, and the labels that find them again. */
import type { KubeObject, Metadata, OwnerReference } from './objects.ts'

export const MANAGER = 'gw-operator'
/** The Lease of the operator that leads. */
export const LEASE_NAME = 'gw-operator'
export const STATUS_MANAGER = 'gw-operator-status'

/** Owns the replicas of a Deployment from the moment at which an autoscaler takes over. */
export const REPLICAS_MANAGER = 'gw-operator-replicas'

/** Variables that the operator sets in every pod; entries of `spec.env` with these names would have no effect. */
export const OWN_VARIABLES = [
  'GW_POD_NAME',
  'GW_BUNDLE_DIR',
  'GW_TRUST_DIR',
  'GW_SECRETS_DIR',
  'GW_GATEWAY_UID',
  'GW_PUSH_PORT',
  'GW_LISTEN_PORT',
  'GW_METRICS_PORT',
  'GW_DRAIN_TIMEOUT_SECONDS',
  'GW_DRAIN_DELAY_SECONDS',
] as const

/** On all objects of the operator. */
export const MANAGED_LABEL = 'app.kubernetes.io/managed-by'
/** On every pod: the name of its gateway. The selector of the Deployment, so it may never change. */
export const GATEWAY_LABEL = 'inference.gw/gateway'
/** Hash of the applied object: the same hash is not applied again. */
export const APPLIED_ANNOTATION = 'inference.gw/applied-hash'
/** The generation after the last apply: another one means a later edit. */
export const GENERATION_ANNOTATION = 'inference.gw/applied-generation'
/** A merge patch has repaired the object, and an apply would keep the patch's fields. */
export const RESTORED_ANNOTATION = 'inference.gw/restored'
/** On a Deployment: hash of the template from which its pods were rendered. */
export const TEMPLATE_ANNOTATION = 'inference.gw/template-hash'
/** On a pod: when the renewal of its mounts was last requested. */
export const MOUNTS_ANNOTATION = 'inference.gw/mounts-renewed-at'

export const names = {
  config: (gateway: string) => `${gateway}-config`,
  lastKnownGood: (gateway: string) => `${gateway}-lkg`,
  endpoints: (gateway: string) => `${gateway}-endpoints`,
  trust: (gateway: string) => `${gateway}-trust`,
  metrics: (gateway: string) => `${gateway}-metrics`,
} as const

/** Whether the API server takes a Service of this name. */
export function fitsService(name: string): boolean {
  return name.length <= 63
}

export function labelsOf(gateway: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'gw',
    'app.kubernetes.io/instance': gateway,
    'app.kubernetes.io/component': 'data-plane',
    [MANAGED_LABEL]: MANAGER,
    [GATEWAY_LABEL]: gateway,
  }
}

/** Metadata of an object that is deleted with its gateway. */
export function metadataOf(gateway: KubeObject, name: string): Metadata {
  return {
    name,
    ...(gateway.metadata.namespace === undefined ? {} : { namespace: gateway.metadata.namespace }),
    labels: labelsOf(gateway.metadata.name),
    ownerReferences: [ownerReference(gateway)],
  }
}

function ownerReference({ metadata }: KubeObject): OwnerReference {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    name: metadata.name,
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  }
}

export function isOwnedBy(object: KubeObject, gateway: KubeObject): boolean {
  const owners = object.metadata.ownerReferences ?? []
  return owners.some(({ uid, controller }) => controller === true && uid === gateway.metadata.uid)
}
