/**
 * The rights of the operator in one table: the chart generates its roles from it, and a test compares it with the
 * calls.
 */
import type { Verb } from './kube/api.ts'
import { LEASE_NAME } from './kube/names.ts'
import { RESOURCES, type Resource } from './kube/objects.ts'

export interface Grant {
  readonly resource: Resource
  readonly subresource?: string
  readonly verbs: readonly Verb[]
  /**
   * `watched`: in the namespaces of gateways; `http-routes` and `inference-pools`: there, if the operator writes routes
   * or reads pools. `own`: only in the operator's namespace. `webhook-own` and `webhook-cluster`: only with the
   * admission webhook; the latter's object has no namespace. `key-secrets`: in the namespaces of gateways, if the
   * operator makes keys. `types`: the resource types, which have no namespace.
   */
  readonly where:
    | 'watched'
    | 'http-routes'
    | 'key-secrets'
    | 'inference-pools'
    | 'own'
    | 'types'
    | 'webhook-own'
    | 'webhook-cluster'
  /** Only objects with these names. RBAC cannot bind `create` to a name. */
  readonly names?: readonly string[]
  /** Needed by an admission plugin, not by a call of the operator. */
  readonly isForAdmission?: boolean
}

export const SIGNING_SECRET_NAME = 'gw-operator-signing'
export const WEBHOOK_SECRET_NAME = 'gw-operator-webhook'
export const TYPE_NAMES = [
  'gatewayconfigs.inference.gw',
  'gatewaykeys.inference.gw',
  'tenantpolicies.inference.gw',
] as const
/** Placeholder for the name of a release's ValidatingWebhookConfiguration. */
export const ITS_CONFIGURATION = 'WEBHOOK_CONFIGURATION'

const READ = ['get', 'list', 'watch'] as const
const CHILD = [...READ, 'create', 'patch'] as const
const OPTIONAL_CHILD = [...CHILD, 'delete'] as const

export const GRANTS: readonly Grant[] = [
  { resource: RESOURCES.gatewayConfigs, verbs: ['list', 'watch'], where: 'watched' },
  { resource: RESOURCES.gatewayConfigs, subresource: 'status', verbs: ['patch'], where: 'watched' },
  // Owner references that block deletion require this with OwnerReferencesPermissionEnforcement.
  {
    resource: RESOURCES.gatewayConfigs,
    subresource: 'finalizers',
    verbs: ['update'],
    where: 'watched',
    isForAdmission: true,
  },
  { resource: RESOURCES.gatewayKeys, verbs: ['list', 'watch'], where: 'watched' },
  { resource: RESOURCES.gatewayKeys, subresource: 'status', verbs: ['patch'], where: 'watched' },
  { resource: RESOURCES.tenantPolicies, verbs: ['list', 'watch'], where: 'watched' },
  {
    resource: RESOURCES.tenantPolicies,
    subresource: 'status',
    verbs: ['patch'],
    where: 'watched',
  },
  { resource: RESOURCES.deployments, verbs: CHILD, where: 'watched' },
  { resource: RESOURCES.services, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.endpointSlices, verbs: ['list', 'watch'], where: 'watched' },
  { resource: RESOURCES.serviceAccounts, verbs: CHILD, where: 'watched' },
  { resource: RESOURCES.configMaps, verbs: [...CHILD, 'update'], where: 'watched' },
  { resource: RESOURCES.budgets, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.networkPolicies, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.autoscalers, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.httpRoutes, verbs: OPTIONAL_CHILD, where: 'http-routes' },
  // Neither read nor patched, because both return the contents: the operator writes a key, and does not keep it.
  { resource: RESOURCES.secrets, verbs: ['create', 'update'], where: 'key-secrets' },
  { resource: RESOURCES.inferencePools, verbs: ['list', 'watch'], where: 'inference-pools' },
  // A patch of the list of parents would need no version; an update does.
  {
    resource: RESOURCES.inferencePools,
    subresource: 'status',
    verbs: ['update'],
    where: 'inference-pools',
  },
  // Patches one annotation, so that the kubelet renews the mounts of the pod.
  { resource: RESOURCES.pods, verbs: ['list', 'watch', 'patch'], where: 'watched' },
  // Owners of pods, which decide whether a pod with a gateway's label belongs to it.
  { resource: RESOURCES.replicaSets, verbs: ['get'], where: 'watched' },
  { resource: RESOURCES.events, verbs: ['create'], where: 'watched' },
  { resource: RESOURCES.leases, verbs: ['create'], where: 'own' },
  { resource: RESOURCES.leases, verbs: ['get', 'update'], where: 'own', names: [LEASE_NAME] },
  { resource: RESOURCES.secrets, verbs: ['create'], where: 'own' },
  {
    resource: RESOURCES.secrets,
    verbs: ['get', 'update'],
    where: 'own',
    names: [SIGNING_SECRET_NAME],
  },
  // Their release: an older operator does not lead.
  { resource: RESOURCES.definitions, verbs: ['get'], where: 'types', names: TYPE_NAMES },
  {
    resource: RESOURCES.secrets,
    verbs: ['get', 'update'],
    where: 'webhook-own',
    names: [WEBHOOK_SECRET_NAME],
  },
  {
    resource: RESOURCES.webhookConfigurations,
    verbs: ['get', 'patch'],
    where: 'webhook-cluster',
    names: [ITS_CONFIGURATION],
  },
]

/** A rule as a Role or ClusterRole has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** `configuration`: replaces `ITS_CONFIGURATION`. */
export function policyRules(
  where: Grant['where'],
  configuration: string = ITS_CONFIGURATION,
): PolicyRule[] {
  const named = (name: string) => (name === ITS_CONFIGURATION ? configuration : name)
  return GRANTS.filter((grant) => grant.where === where).map(
    ({ resource, subresource, verbs, names }) => ({
      apiGroups: [resource.group],
      resources: [
        subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`,
      ],
      verbs,
      ...(names && { resourceNames: names.map(named) }),
    }),
  )
}
