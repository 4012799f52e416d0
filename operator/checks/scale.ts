/** Two settings that contradict each other about the number of pods. */
import { warn } from '../../dataplane/config/judgement/problems.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { ClusterCheck } from './contract.ts'

/** spec.replicas comes from Git, or from a scaler whose target is the gateway instead of its Deployment. */
export const replicasHaveEffect: ClusterCheck = ({ gateway }) => {
  const autoscaling = valueBelow(gateway, 'spec', 'autoscaling')
  const replicas = valueBelow(gateway, 'spec', 'replicas')
  if (autoscaling === undefined || replicas === undefined) return []
  const isExternal = valueBelow(autoscaling, 'mode') === 'External'
  const owner = isExternal ? 'the scaler of the Deployment' : 'the autoscaler'
  const message = `has no effect while autoscaling is written: ${owner} sets the number of pods`
  const fix = 'Remove it, or remove autoscaling to scale the gateway itself.'
  return [warn(['spec', 'replicas'], message, fix)]
}
