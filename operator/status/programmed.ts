/** Programmed: whether every ready pod enforces the applied configuration, as the pods report. */

import { hasErrors } from '../../dataplane/config/judgement/problems.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { PodState } from '../delivery/pusher.ts'
import { enforces, no, type StatusFacts, unknown, yes } from './facts.ts'
import type { Policy } from './policies.ts'

const invalid: Policy = (facts) =>
  facts.compiled !== undefined && hasErrors(facts.compiled.problems)
    ? no('Invalid', invalidMessage(facts))
    : undefined

const beforeFirstConfiguration: Policy = ({ documents }) =>
  documents.configuration === undefined
    ? unknown('No configuration has been written yet.')
    : undefined

const paused: Policy = (facts) => {
  if (!facts.isPaused) return undefined
  const given = `the pods have ${facts.documents.configuration?.generation}`
  const message = `While spec.paused is true, no pod gets generation ${generationOf(facts)}; ${given}.`
  return unknown(message, 'Paused')
}

const rejected: Policy = (facts) => {
  const pods = facts.pods.filter(({ configuration }) => configuration.state === 'rejected')
  return pods.length === 0 ? undefined : no('Rejected', podsMessage('refuse', pods, facts))
}

const unreachable: Policy = (facts) => {
  const pods = facts.pods.filter(
    ({ configuration, target }) => configuration.state === 'unreachable' && target.ready,
  )
  if (pods.length === 0) return undefined
  return no('PodUnreachable', podsMessage('cannot be reached with', pods, facts))
}

const noPods: Policy = (facts) => {
  if (readyOf(facts).length > 0) return undefined
  const isScaledAway = valueBelow(facts.deployment, 'spec', 'replicas') === 0
  const message = isScaledAway
    ? 'The gateway is scaled to 0 pods, so nothing serves. Scale it up to serve again.'
    : 'No pod is ready. See WorkloadAvailable.'
  return no('NoPods', message)
}

const progressing: Policy = (facts) => {
  const ready = readyOf(facts)
  const wanted = facts.documents.configuration?.hash
  const acknowledged = ready.filter((pod) => enforces(pod, wanted)).length
  if (ready.length === acknowledged + freshPods(facts, ready).length) return undefined
  const pods = `${acknowledged} of ${ready.length} ready pods`
  return no('Progressing', `${pods} enforce generation ${generationOf(facts)}.`)
}

const programmed: Policy = (facts) => {
  const pods = `All ${readyOf(facts).length} ready pods`
  return yes('Programmed', `${pods} enforce generation ${generationOf(facts)}.`)
}

export const PROGRAMMED = [
  invalid,
  beforeFirstConfiguration,
  paused,
  rejected,
  unreachable,
  noPods,
  progressing,
  programmed,
]

function readyOf({ pods }: StatusFacts): readonly PodState[] {
  return pods.filter(({ target }) => target.ready)
}

function generationOf({ gateway }: StatusFacts): number {
  return gateway.metadata.generation ?? 0
}

/** A pod that has not reported yet read the same bundle when it started, so scaling does not change this condition. */
function freshPods({ before, documents }: StatusFacts, ready: readonly PodState[]): PodState[] {
  const was = before.conditions.find(({ type }) => type === 'Programmed')?.status
  const isSame = before.activeHash === documents.configuration?.hash
  if (was !== 'True' || !isSame) return []
  return ready.filter(
    ({ report, configuration }) => report === undefined && configuration.state === 'pending',
  )
}

function podsMessage(what: string, pods: readonly PodState[], facts: StatusFacts): string {
  const shown = pods
    .slice(0, 3)
    .map(({ target, configuration }) => `${target.name}: ${configuration.error ?? 'not said why'}`)
  const more = pods.length > 3 ? ` (and ${pods.length - 3} more pods)` : ''
  const many = pods.length === 1 ? 'One pod' : `${pods.length} pods`
  const verb = what === 'refuse' && pods.length === 1 ? 'refuses' : what
  return `${many} ${verb} generation ${generationOf(facts)}. ${shown.join('; ')}${more}`
}

function invalidMessage(facts: StatusFacts): string {
  const { configuration } = facts.documents
  const generation = generationOf(facts)
  if (configuration === undefined) {
    return `Generation ${generation} is not valid, and there was none before. See Accepted.`
  }
  const serving = facts.pods.filter((pod) => enforces(pod, configuration.hash)).length
  return `Generation ${generation} is not valid; ${serving} pods keep generation ${configuration.generation}. See Accepted.`
}
