/** The conditions of a gateway. A list of policies judges each one; Ready sums up the others. */
import type { Condition, ConditionType } from '../../crds/conditions.ts'
import { MESSAGE_LENGTH_MAX } from '../../crds/conditions.ts'
import { ACCEPTED } from './accepted.ts'
import { CERTIFICATE_VALID, wantsCertificate } from './certificate-valid.ts'
import { DEGRADED } from './degraded.ts'
import { EXPOSED, wantsRoute } from './exposed.ts'
import { type ConditionState, no, type StatusFacts, yes } from './facts.ts'
import { storeTrouble } from './pod-troubles.ts'
import { judge } from './policies.ts'
import { PROGRAMMED } from './programmed.ts'
import { RESOLVED_REFS } from './references.ts'
import { VERIFIED, wantsVerification } from './verified.ts'
import { WORKLOAD_AVAILABLE } from './workload-available.ts'

type Always = Exclude<
  ConditionType,
  'Ready' | 'Exposed' | 'CertificateValid' | 'Verified' | 'Stalled' | 'Reconciling'
>

interface Judgements extends Readonly<Record<Always, ConditionState>> {
  readonly Exposed?: ConditionState
  readonly CertificateValid?: ConditionState
  readonly Verified?: ConditionState
}

export function conditionsOf(facts: StatusFacts): Condition[] {
  const judgements: Judgements = {
    Accepted: judge(ACCEPTED, facts),
    ResolvedRefs: judge(RESOLVED_REFS, facts),
    WorkloadAvailable: judge(WORKLOAD_AVAILABLE, facts),
    Programmed: judge(PROGRAMMED, facts),
    Degraded: judge(DEGRADED, facts),
    ...(wantsRoute(facts) && { Exposed: judge(EXPOSED, facts) }),
    ...(wantsCertificate(facts) && { CertificateValid: judge(CERTIFICATE_VALID, facts) }),
    ...(wantsVerification(facts) && { Verified: judge(VERIFIED, facts) }),
  }
  const all = { ...judgements, Ready: judgeReady(judgements, facts), ...progressOf(judgements) }
  return Object.entries(all).map(([type, judgement]) => conditionOf(facts, type, judgement))
}

/** For pipelines that wait (kstatus): whether waiting helps. Both are absent if there is nothing to wait for. */
function progressOf({ Accepted, WorkloadAvailable }: Judgements): {
  readonly Stalled?: ConditionState
  readonly Reconciling?: ConditionState
} {
  if (Accepted.status === 'False') return { Stalled: yes(Accepted.reason, Accepted.message) }
  const { reason, message } = WorkloadAvailable
  return reason === 'RolloutInProgress' ? { Reconciling: yes(reason, message) } : {}
}

/** The time changes only with the status; otherwise each write would cause the next one. */
function conditionOf(facts: StatusFacts, type: string, judgement: ConditionState): Condition {
  const before = facts.before.conditions.find((condition) => condition.type === type)
  const isSame = before?.status === judgement.status
  return {
    type,
    status: judgement.status,
    observedGeneration: facts.gateway.metadata.generation ?? 0,
    lastTransitionTime: isSame ? before.lastTransitionTime : facts.now,
    reason: judgement.reason,
    message: judgement.message.slice(0, MESSAGE_LENGTH_MAX),
  }
}

/** Reasons that end without help; a reason that needs help comes first. */
const PASSING: ReadonlySet<string> = new Set(['RolloutInProgress', 'Progressing'])

function judgeReady(judgements: Judgements, { pods }: StatusFacts): ConditionState {
  const { Accepted, WorkloadAvailable, Programmed, ResolvedRefs, Exposed, Degraded } = judgements
  const { CertificateValid } = judgements
  const needed = [
    Accepted,
    WorkloadAvailable,
    Programmed,
    ResolvedRefs,
    ...(Exposed ? [Exposed] : []),
    ...(CertificateValid ? [CertificateValid] : []),
  ]
  const broken = needed.filter(({ status }) => status === 'False')
  const failing =
    broken.find(({ reason }) => !PASSING.has(reason)) ??
    broken[0] ??
    needed.find(({ status }) => status === 'Unknown')
  if (failing !== undefined) return failing
  const store = storeTrouble(pods)
  if (store?.refuses) return no('StoreAway', store.message)
  return Degraded.status === 'True'
    ? yes('Ready', 'The gateway serves, but not all as configured. See Degraded.')
    : yes('Ready', 'The gateway serves as configured.')
}
