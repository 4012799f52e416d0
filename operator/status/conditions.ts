/** The conditions of a gateway: each is judged alone, the summary follows from them. */

import type { Condition, ConditionType } from '../../crds/conditions.ts'
import { MESSAGE_LENGTH_MAX } from '../../crds/conditions.ts'
import { countFindings } from '../../dataplane/config/judgement/problems.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { showFinding } from '../compile/compile.ts'
import { TIMED_OUT } from '../compile/judge-apart.ts'
import { isRolling } from '../workload/rolling.ts'
import { enforces, type Judgement, listed, no, type StatusFacts, unknown, yes } from './facts.ts'
import { judgeProgrammed } from './programmed.ts'
import { judgeReferences } from './references.ts'
import { troubleOf } from './trouble.ts'

export function conditionsOf(facts: StatusFacts): Condition[] {
  const judgements: Record<Exclude<ConditionType, 'Ready'>, Judgement> = {
    Accepted: judgeAccepted(facts),
    ResolvedRefs: judgeReferences(facts),
    WorkloadAvailable: judgeWorkload(facts),
    Programmed: judgeProgrammed(facts),
    Degraded: judgeDegraded(facts),
  }
  const all = { ...judgements, Ready: summary(judgements, storeTrouble(facts)) }
  return Object.entries(all).map(([type, judgement]) => conditionOf(facts, type, judgement))
}

/** The time moves only when the status does: else each write would be the cause of the next. */
function conditionOf(facts: StatusFacts, type: string, judgement: Judgement): Condition {
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

function summary(
  judgements: Readonly<Record<string, Judgement>>,
  store: StoreTrouble | undefined,
): Judgement {
  const order = ['Accepted', 'WorkloadAvailable', 'Programmed', 'ResolvedRefs']
  const needed = order.flatMap((type) => judgements[type] ?? [])
  const failing =
    needed.find(({ status }) => status === 'False') ??
    needed.find(({ status }) => status === 'Unknown')
  const message =
    judgements.Degraded?.status === 'True'
      ? 'The gateway serves, but not all as configured. See Degraded.'
      : 'The gateway serves as configured.'
  if (failing !== undefined) return failing
  return store?.refuses ? no('StoreAway', store.message) : yes('Ready', message)
}

interface StoreTrouble {
  /** Some pod answers every request with 503 for it. */
  readonly refuses: boolean
  readonly message: string
}

function storeTrouble({ pods }: StatusFacts): StoreTrouble | undefined {
  const alone = pods.filter(({ report }) => report?.storeAway !== undefined)
  if (alone.length === 0) return undefined
  const refuses = alone.some(({ report }) => report?.storeAway?.failOpen === false)
  const meanwhile = refuses
    ? 'requests are refused with 503 meanwhile'
    : 'each admits its own share of the limits meanwhile'
  const names = listed(alone.map(({ target }) => target.name))
  const message = `The shared store does not answer ${names}; ${meanwhile}. Look at Redis.`
  return { refuses, message }
}

function judgeAccepted({ isPaused, compiled }: StatusFacts): Judgement {
  if (isPaused) {
    const message = 'spec.paused is true: the pods keep what they have. Set it to false to go on.'
    return unknown(message, 'Paused')
  }
  if (compiled === undefined) return unknown('The configuration has not been looked at yet.')
  const errors = compiled.problems.filter(({ severity }) => severity === 'error')
  const [first] = errors
  if (first !== undefined) {
    const others = countFindings(errors) - 1
    const more = others > 0 ? ` (and ${others} more, see status.problems)` : ''
    const reason = first.code === TIMED_OUT ? 'CompilationTimedOut' : 'Invalid'
    return no(reason, `${showFinding(first)}${more}`)
  }
  const warnings = countFindings(compiled.problems)
  const said =
    warnings === 0
      ? ''
      : ` ${warnings === 1 ? 'One warning' : `${warnings} warnings`}, see status.problems.`
  return yes('Accepted', `The configuration is valid.${said}`)
}

function judgeWorkload(facts: StatusFacts): Judgement {
  const { workload, deployment, documents } = facts
  if (workload.kind === 'conflict') return no('Conflict', workload.message)
  if (workload.kind === 'failed') {
    const fix = 'Correct the field of spec that this comes from, or what forbids it.'
    return no('ApplyFailed', `${workload.message}. ${fix}`)
  }
  if (documents.configuration === undefined) {
    return unknown('Pods are made when there is a first valid configuration.')
  }
  if (deployment === undefined) return unknown('The Deployment has just been asked for.')
  const count = (...path: string[]) => Number(valueBelow(deployment, ...path) ?? 0)
  const wanted = count('spec', 'replicas')
  const available = count('status', 'availableReplicas')
  const waits = workload.kind === 'waiting' ? ` ${workload.message}` : ''
  const trouble = troubleOf(facts)
  if (available >= wanted && !isRolling(deployment)) {
    if (wanted > 0 && facts.endpoints === 0) return no('NoEndpoints', noEndpointsMessage(facts))
    return yes('Available', `${available} of ${wanted} pods are available.${waits}`)
  }
  if (available === 0 && wanted > 0) {
    const why = trouble ?? 'They are starting; if that lasts, look at their events and logs.'
    return no('NoReplicasAvailable', `None of ${wanted} pods is available. ${why}${waits}`)
  }
  const updated = count('status', 'updatedReplicas')
  const why = trouble === undefined ? '' : ` ${trouble}`
  return no(
    'RolloutInProgress',
    `${available} of ${wanted} pods are available, ${updated} are of the newest shape.${why}${waits}`,
  )
}

/** The pods are there, and nobody reaches them. */
function noEndpointsMessage({ gateway: { metadata } }: StatusFacts): string {
  const { name, namespace } = metadata
  return (
    `No pod stands behind Service ${name} yet; that takes a moment. If it lasts, look at its EndpointSlices: ` +
    `kubectl get endpointslices -n ${namespace} -l kubernetes.io/service-name=${name}.`
  )
}

function judgeDegraded(facts: StatusFacts): Judgement {
  const { documents, pods, compiled } = facts
  const reports = pods.flatMap(({ report }) => report ?? [])
  if (reports.length === 0) return unknown('No pod has said yet what it enforces.')
  const store = storeTrouble(facts)
  if (store?.refuses) return yes('StoreAway', store.message)
  const isRefused = compiled !== undefined && compiled.configuration === undefined
  const serving = pods.filter(({ report }) => report?.configuration.hash !== undefined)
  if (serving.length === 0) return unknown('No pod has taken a configuration yet.')
  const behind = serving.filter(
    (pod) =>
      pod.configuration.state === 'rejected' && !enforces(pod, documents.configuration?.hash),
  )
  if (isRefused || behind.length > 0) {
    const who = isRefused ? 'the ' + 'pods' : listed(behind.map(({ target }) => target.name))
    const message =
      `The newest generation is not enforced; ${who} go on with the last good configuration. ` +
      `Correct what Accepted and Programmed name.`
    return yes('UsingLastKnownGood', message)
  }
  const ignored = [...new Set(reports.flatMap((report) => report.ignored))]
  if (ignored.length > 0) {
    const message = `The pods do not know ${listed(ignored)}. Update their image, or remove the fields.`
    return yes('FieldsIgnored', message)
  }
  if (store !== undefined) return yes('StoreAway', store.message)
  const waiting = [...new Set(reports.flatMap((report) => report.waitsForStart))]
  if (waiting.length > 0) {
    const message = `A change of ${listed(waiting)} takes effect in new pods, which replace the old ones now.`
    return yes('WaitsForNewPods', message)
  }
  const upstreams = reports.flatMap(({ unresolved }) => unresolved.map(({ upstream }) => upstream))
  if (upstreams.length > 0) {
    const message = `Without their credentials these upstreams are out: ${listed([...new Set(upstreams)])}. See ResolvedRefs.`
    return yes('UpstreamsDisabled', message)
  }
  return no('AsConfigured', 'What is served is what was configured.')
}
