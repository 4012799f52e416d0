/** The number of pods, and how many may be unavailable at once. */

import { GATEWAY_LABEL, metadataOf } from '../kube/names.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { WorkloadSettings } from './settings.ts'

const CPU_PERCENT = 70

export function disruptionBudgetOf({ gateway, spec }: WorkloadSettings): KubeObject | undefined {
  const { enabled, minAvailable, maxUnavailable } = spec.podDisruptionBudget
  if (!enabled) return undefined
  const bound =
    minAvailable === undefined ? { maxUnavailable: maxUnavailable ?? 1 } : { minAvailable }
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(gateway, gateway.metadata.name),
    spec: {
      ...bound,
      selector: { matchLabels: { [GATEWAY_LABEL]: gateway.metadata.name } },
      // A broken pod must not block the drain of its node.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  }
}

/** An autoscaler acts after a while, and until then there would be one pod. */
export function initialReplicas({
  spec,
}: Pick<WorkloadSettings, 'spec'>): { replicas: number } | undefined {
  const least = spec.autoscaling?.minReplicas
  return least === undefined ? undefined : { replicas: least }
}

/** Requests take long, so one pod too many is better than one too few. */
const BEHAVIOR = {
  scaleDown: {
    stabilizationWindowSeconds: 300,
    policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }],
  },
}

export function autoscalerOf({ gateway, spec }: WorkloadSettings): KubeObject | undefined {
  const { autoscaling } = spec
  if (autoscaling === undefined || autoscaling.mode === 'External') return undefined
  const { name } = gateway.metadata
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadataOf(gateway, name),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      minReplicas: autoscaling.minReplicas ?? 1,
      maxReplicas: autoscaling.maxReplicas ?? autoscaling.minReplicas ?? 1,
      metrics: metricsOf(autoscaling),
      behavior: BEHAVIOR,
    },
  }
}

/** The metric that requires most pods wins: thousands of streams may wait with little CPU. */
function metricsOf({
  targetCPUUtilizationPercentage: percent = CPU_PERCENT,
  targetStreamsPerPod: streams,
}: NonNullable<WorkloadSettings['spec']['autoscaling']>): object[] {
  const cpu = { name: 'cpu', target: { type: 'Utilization', averageUtilization: percent } }
  const open = {
    metric: { name: 'gw_streams_open' },
    target: { type: 'AverageValue', averageValue: String(streams) },
  }
  return [
    ...(streams === undefined ? [] : [{ type: 'Pods', pods: open }]),
    { type: 'Resource', resource: cpu },
  ]
}
