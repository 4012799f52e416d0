/** The Lease of the operators as facts: which one leads since when, and whether it still does. */
import { textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { FactCondition, FactEvent } from '../../dataplane/why/facts.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'

/** A lease that is older than several of its durations has no leader. */
const DURATIONS_MAX = 3
const SECOND_MS = 1000

export function leaderFacts(leases: readonly KubeObject[], now: number) {
  return {
    events: leases.flatMap((lease) => takenBy(lease)),
    conditions: leases.flatMap((lease) => leaderless(lease, now)),
  }
}

function takenBy(lease: KubeObject): FactEvent[] {
  const at = Date.parse(textOf(valueBelow(lease, 'spec', 'acquireTime')) ?? '')
  const to = holderOf(lease)
  if (Number.isNaN(at) || to === '') return []
  const transitions = Number(valueBelow(lease, 'spec', 'leaseTransitions') ?? 0)
  const message = `Operator ${to} leads (change ${transitions} of the leader).`
  return [{ at, event: 'leader', message, fields: { to, transitions } }]
}

/** Pods serve without an operator; edits, new Secrets and addresses do not reach them. */
function leaderless(lease: KubeObject, now: number): FactCondition[] {
  const renewed = Date.parse(textOf(valueBelow(lease, 'spec', 'renewTime')) ?? '')
  const seconds = Number(valueBelow(lease, 'spec', 'leaseDurationSeconds') ?? 15)
  const isOld = now - renewed > Math.max(15, seconds) * DURATIONS_MAX * SECOND_MS
  if (Number.isNaN(renewed) || !isOld) return []
  const message =
    `No operator leads in namespace ${lease.metadata.namespace}, ` +
    'so pods get no edits, Secrets and addresses; look at its Deployment.'
  const reason = 'OperatorAway'
  return [{ type: 'Led', status: 'False', reason, message, since: renewed }]
}

function holderOf(lease: KubeObject): string {
  return textOf(valueBelow(lease, 'spec', 'holderIdentity')) ?? ''
}
