/** Variables of the pod that the operator sets, regardless of `spec.env`. */
import { type Finding, refuse } from '../../dataplane/config/judgement/problems.ts'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { OWN_VARIABLES } from '../kube/names.ts'
import type { ClusterCheck } from './contract.ts'

const INSTEAD: Readonly<Record<string, string>> = {
  GW_LISTEN_PORT: 'Write gw.gateway.listen_port.',
  GW_METRICS_PORT: 'Write gw.gateway.metrics_port.',
  GW_DRAIN_TIMEOUT_SECONDS: 'Write spec.drainTimeoutSeconds.',
}

export const variablesHaveEffect: ClusterCheck = ({ gateway }) =>
  listBelow(gateway, 'spec', 'env').flatMap((entry, index): Finding[] => {
    const name = String(valueBelow(entry, 'name'))
    if (!OWN_VARIABLES.some((one) => one === name)) return []
    const message = `${name} has no effect: the operator sets this variable in every pod`
    return [refuse(['spec', 'env', index], message, INSTEAD[name] ?? 'Remove it.')]
  })
