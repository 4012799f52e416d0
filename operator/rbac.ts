/** What the operator may do, as one table: the chart's roles are made from it, and a test compares it with what the code asks. */
import type { Verb } from './api.ts'
import { RESOURCES, type Resource } from './objects.ts'

export interface Grant {
  readonly resource: Resource
  readonly subresource?: string
  readonly verbs: readonly Verb[]
  /** `watched`: in the namespaces of gateways. `own`: in the operator's namespace alone. */
  readonly where: 'watched' | 'own'
  /** Only objects of these names. Whoever creates cannot be bound to a name. */
  readonly names?: readonly string[]
  /** No call of ours asks for it; an admission plugin does. */
  readonly isForAdmission?: boolean
}

export const LEASE_NAME = 'gw-operator'
export const SIGNING_SECRET_NAME = 'gw-operator-signing'

const READ = ['get', 'list', 'watch'] as const
const CHILD = [...READ, 'create', 'patch'] as const
const OPTIONAL_CHILD = [...CHILD, 'delete'] as const

export const GRANTS: readonly Grant[] = [
  { resource: RESOURCES.gatewayConfigs, verbs: ['list', 'watch'], where: 'watched' },
  { resource: RESOURCES.gatewayConfigs, subresource: 'status', verbs: ['patch'], where: 'watched' },
  // Owner references that block deletion ask for this where OwnerReferencesPermissionEnforcement is on.
  {
    resource: RESOURCES.gatewayConfigs,
    subresource: 'finalizers',
    verbs: ['update'],
    where: 'watched',
    isForAdmission: true,
  },
  { resource: RESOURCES.gatewayKeys, verbs: ['list', 'watch'], where: 'watched' },
  { resource: RESOURCES.gatewayKeys, subresource: 'status', verbs: ['patch'], where: 'watched' },
  { resource: RESOURCES.deployments, verbs: CHILD, where: 'watched' },
  { resource: RESOURCES.services, verbs: CHILD, where: 'watched' },
  { resource: RESOURCES.serviceAccounts, verbs: CHILD, where: 'watched' },
  { resource: RESOURCES.configMaps, verbs: [...CHILD, 'update'], where: 'watched' },
  { resource: RESOURCES.budgets, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.networkPolicies, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.autoscalers, verbs: OPTIONAL_CHILD, where: 'watched' },
  { resource: RESOURCES.pods, verbs: ['list', 'watch'], where: 'watched' },
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
]

/** A rule as a Role or ClusterRole has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export function policyRules(where: Grant['where']): PolicyRule[] {
  return GRANTS.filter((grant) => grant.where === where).map(
    ({ resource, subresource, verbs, names }) => ({
      apiGroups: [resource.group],
      resources: [
        subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`,
      ],
      verbs,
      ...(names && { resourceNames: names }),
    }),
  )
}
