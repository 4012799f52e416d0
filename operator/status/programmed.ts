/** Whether every ready pod really enforces what was asked for, said by the pods themselves. */

import { hasErrors } from '../../dataplane/config/judgement/problems.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { PodState } from '../delivery/pusher.ts'
import { enforces, type Judgement, no, type StatusFacts, unknown, yes } from './facts.ts'

export function judgeProgrammed(facts: StatusFacts): Judgement {
  const { compiled, documents, pods } = facts
  const wanted = documents.configuration
  const generation = facts.gateway.metadata.generation ?? 0
  if (compiled !== undefined && hasErrors(compiled.problems)) {
    return no('Invalid', invalidMessage(facts))
  }
  if (wanted === undefined) return unknown('No configuration has been written yet.')
  if (facts.isPaused) {
    const given = `the pods were given ${wanted.generation}`
    const message = `While spec.paused is true nobody looks at generation ${generation}; ${given}.`
    return unknown(message, 'Paused')
  }
  const trouble = pods.filter(({ configuration }) => isTrouble(configuration.state))
  const rejected = trouble.filter(({ configuration }) => configuration.state === 'rejected')
  const unreachable = trouble.filter(({ configuration, target }) => {
    return configuration.state === 'unreachable' && target.ready
  })
  if (rejected.length > 0) return no('Rejected', podsMessage('refuse', rejected, generation))
  if (unreachable.length > 0) {
    return no('PodUnreachable', podsMessage('cannot be reached with', unreachable, generation))
  }
  const ready = pods.filter(({ target }) => target.ready)
  if (ready.length === 0) {
    const isScaledAway = valueBelow(facts.deployment, 'spec', 'replicas') === 0
    const message = isScaledAway
      ? 'The gateway is scaled to 0 pods, so nothing serves. Scale it up to go on.'
      : 'No pod is ready. See WorkloadAvailable.'
    return no('NoPods', message)
  }
  const acknowledged = ready.filter((pod) => enforces(pod, wanted.hash))
  const waiting = ready.length - acknowledged.length - freshPods(facts, ready).length
  if (waiting > 0) {
    const message = `${acknowledged.length} of ${ready.length} ready pods enforce generation ${generation}.`
    return no('Progressing', message)
  }
  const message = `All ${ready.length} ready pods enforce generation ${generation}.`
  return yes('Programmed', message)
}

/** A pod that nobody has asked yet read the same bundle when it started: scaling is no change of the configuration. */
function freshPods({ before, documents }: StatusFacts, ready: readonly PodState[]): PodState[] {
  const was = before.conditions.find(({ type }) => type === 'Programmed')?.status
  const isSame = before.activeHash === documents.configuration?.hash
  if (was !== 'True' || !isSame) return []
  return ready.filter(
    ({ report, configuration }) => report === undefined && configuration.state === 'pending',
  )
}

function isTrouble(state: PodState['configuration']['state']): boolean {
  return state === 'rejected' || state === 'unreachable'
}

function podsMessage(what: string, pods: readonly PodState[], generation: number): string {
  const shown = pods
    .slice(0, 3)
    .map(({ target, configuration }) => `${target.name}: ${configuration.error ?? 'not said why'}`)
  const more = pods.length > 3 ? ` (and ${pods.length - 3} more pods)` : ''
  const many = pods.length === 1 ? 'One pod' : `${pods.length} pods`
  const verb = what === 'refuse' && pods.length === 1 ? 'refuses' : what
  return `${many} ${verb} generation ${generation}. ${shown.join('; ')}${more}`
}

function invalidMessage({ documents, pods, gateway }: StatusFacts): string {
  const { configuration } = documents
  const generation = gateway.metadata.generation ?? 0
  if (configuration === undefined) {
    return `Generation ${generation} is not valid, and there was none before. See Accepted.`
  }
  const serving = pods.filter((pod) => enforces(pod, configuration.hash)).length
  return `Generation ${generation} is not valid; ${serving} pods go on with generation ${configuration.generation}. See Accepted.`
}
