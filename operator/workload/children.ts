/** All objects of a gateway except its documents, in the order of applying. */

import { metadataOf, names } from '../kube/names.ts'
import { type KubeObject, RESOURCES, type Resource } from '../kube/objects.ts'
import { desiredDeployment } from './made-with.ts'
import { metricsServiceOf, networkPolicyOf, serviceAccountOf, serviceOf } from './network.ts'
import { httpRouteOf } from './route.ts'
import { autoscalerOf, disruptionBudgetOf, initialReplicas } from './scale.ts'
import type { WorkloadSettings } from './settings.ts'

export interface Child {
  readonly resource: Resource
  readonly name: string
  /** Absent: the object must not exist. */
  readonly desired: KubeObject | undefined
  /** Members of its `spec` that are set at creation, and then belong to another writer. */
  readonly initial?: Readonly<Record<string, unknown>> | undefined
  /** The gateway serves without it: an object of another owner with its name is not changed. */
  readonly isSpare?: true
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
    {
      resource: RESOURCES.services,
      name: names.metrics(name),
      desired: metricsServiceOf(settings),
      isSpare: true,
    },
    { resource: RESOURCES.networkPolicies, name, desired: networkPolicyOf(settings) },
    { resource: RESOURCES.budgets, name, desired: disruptionBudgetOf(settings) },
    {
      resource: RESOURCES.deployments,
      name,
      desired: desiredDeployment(settings, deployment),
      initial: initialReplicas(settings),
    },
    { resource: RESOURCES.autoscalers, name, desired: autoscalerOf(settings) },
    ...(settings.platform?.hasHttpRoutes === true
      ? [
          {
            resource: RESOURCES.httpRoutes,
            name,
            desired: httpRouteOf(settings),
            isSpare: true as const,
          },
        ]
      : []),
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
