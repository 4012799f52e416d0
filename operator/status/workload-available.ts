/** WorkloadAvailable: whether Kubernetes runs the pods and the Service reaches them. */
import { valueBelow } from '../../dataplane/json/values.ts'
import { isRolling, isStuck, PROGRESS_DEADLINE_MINUTES } from '../workload/rolling.ts'
import { no, type StatusFacts, unknown, yes } from './facts.ts'
import type { Policy } from './policies.ts'
import { troubleOf } from './trouble.ts'

const conflict: Policy = ({ workload }) =>
  workload.kind === 'conflict' ? no('Conflict', workload.message) : undefined

const applyFailed: Policy = ({ workload }) => {
  if (workload.kind !== 'failed') return undefined
  const fix = 'Correct the field of spec that causes this, or the policy that forbids it.'
  return no('ApplyFailed', `${workload.message}. ${fix}`)
}

const beforeFirstConfiguration: Policy = ({ documents }) =>
  documents.configuration === undefined
    ? unknown('The operator creates pods after the first valid configuration.')
    : undefined

const beforeDeployment: Policy = ({ deployment }) =>
  deployment === undefined ? unknown('The Deployment has just been requested.') : undefined

const noEndpoints: Policy = (facts) => {
  const { wanted } = countsOf(facts)
  if (!isComplete(facts) || wanted === 0 || facts.endpoints !== 0) return undefined
  const { name, namespace } = facts.gateway.metadata
  const message =
    `Service ${name} has no ready pod yet, which may take a moment. If this lasts, look at its EndpointSlices: ` +
    `kubectl get endpointslices -n ${namespace} -l kubernetes.io/service-name=${name}.`
  return no('NoEndpoints', message)
}

const available: Policy = (facts) => {
  if (!isComplete(facts)) return undefined
  const counts = countsOf(facts)
  const message = `${counts.available} of ${counts.wanted} pods are available.${waitOf(facts)}`
  return yes('Available', message)
}

const noReplicas: Policy = (facts) => {
  const counts = countsOf(facts)
  if (counts.available > 0 || counts.wanted === 0) return undefined
  const starting = 'The pods are starting; if this lasts, look at their events and logs.'
  const why = troubleOf(facts) ?? starting
  const message = `None of ${counts.wanted} pods is available. ${why}${stuckOf(facts)}${waitOf(facts)}`
  return no('NoReplicasAvailable', message)
}

const rollout: Policy = (facts) => {
  const counts = countsOf(facts)
  const trouble = troubleOf(facts)
  const why = trouble === undefined ? '' : ` ${trouble}`
  const pods = `${counts.available} of ${counts.wanted} pods are available`
  const message = `${pods}, ${counts.updated} are up to date.${why}${stuckOf(facts)}${waitOf(facts)}`
  return no('RolloutInProgress', message)
}

export const WORKLOAD_AVAILABLE = [
  conflict,
  applyFailed,
  beforeFirstConfiguration,
  beforeDeployment,
  noEndpoints,
  available,
  noReplicas,
  rollout,
]

function countsOf({ deployment }: StatusFacts) {
  const count = (...path: string[]) => Number(valueBelow(deployment, ...path) ?? 0)
  return {
    wanted: count('spec', 'replicas'),
    available: count('status', 'availableReplicas'),
    updated: count('status', 'updatedReplicas'),
  }
}

function isComplete(facts: StatusFacts): boolean {
  const { available, wanted } = countsOf(facts)
  return available >= wanted && facts.deployment !== undefined && !isRolling(facts.deployment)
}

function stuckOf({ deployment }: StatusFacts): string {
  if (deployment === undefined || !isStuck(deployment)) return ''
  return ` No pod has come up for ${PROGRESS_DEADLINE_MINUTES} minutes, so other gateways no longer wait for this one.`
}

function waitOf({ workload }: StatusFacts): string {
  return workload.kind === 'waiting' ? ` ${workload.message}` : ''
}
