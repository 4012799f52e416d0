/** Everything that a gateway consists of besides its documents, in the order in which it is applied. */
import { type KubeObject, RESOURCES, type Resource } from '../kube/objects.ts'
import { desiredDeployment } from './made-with.ts'
import { metadataOf, names } from './names.ts'
import { networkPolicyOf, serviceAccountOf, serviceOf } from './network.ts'
import { autoscalerOf, disruptionBudgetOf } from './scale.ts'
import type { WorkloadSettings } from './settings.ts'

export interface Child {
  readonly resource: Resource
  readonly name: string
  /** Absent: there should be none. */
  readonly desired: KubeObject | undefined
}

export function childrenOf(
  settings: WorkloadSettings,
  trusted: Readonly<Record<string, string>>,
  deployment: KubeObject | undefined,
): Child[] {
  const { name } = settings.gateway.metadata
  return [
    { resource: RESOURCES.serviceAccounts, name, desired: serviceAccountOf(settings) },
    {
      resource: RESOURCES.configMaps,
      name: names.trust(name),
      desired: trustOf(settings, trusted),
    },
    { resource: RESOURCES.services, name, desired: serviceOf(settings) },
    { resource: RESOURCES.networkPolicies, name, desired: networkPolicyOf(settings) },
    { resource: RESOURCES.budgets, name, desired: disruptionBudgetOf(settings) },
    { resource: RESOURCES.deployments, name, desired: desiredDeployment(settings, deployment) },
    { resource: RESOURCES.autoscalers, name, desired: autoscalerOf(settings) },
  ]
}

function trustOf(
  { gateway }: WorkloadSettings,
  trusted: Readonly<Record<string, string>>,
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadataOf(gateway, names.trust(gateway.metadata.name)),
    data: trusted,
  }
}
