/** The whole status of a gateway. Pure: the same facts give the same status. */

import {
  type GatewayStatus,
  PODS_MAX,
  type PodStatus,
  PROBLEMS_MAX,
  type RolloutStatus,
  type StatusProblem,
} from '../../crds/gateway-config.ts'
import { type Finding, showPath } from '../../dataplane/config/judgement/problems.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { PodState } from '../delivery/pusher.ts'
import { rolloutsOf } from '../delivery/reported-rollouts.ts'
import { GATEWAY_LABEL } from '../kube/names.ts'
import { conditionsOf } from './conditions.ts'
import { exposedAddress } from './exposed.ts'
import { enforces, type StatusFacts } from './facts.ts'
import { shownProblem, unusableIn } from './pod-troubles.ts'
import { heldBack } from './trouble.ts'

export function gatewayStatus(facts: StatusFacts): GatewayStatus {
  const { gateway, before, documents, deployment, pods, compiled } = facts
  const conditions = conditionsOf(facts)
  const { configuration, keys } = documents
  const count = (member: string) => Number(valueBelow(deployment, 'status', member) ?? 0)
  const holds = (wanted: string) =>
    conditions.some(({ type, status }) => type === wanted && status === 'True')
  // Absent until every ready pod has this configuration; the time of the previous one does not apply.
  const acknowledgedAt = before.activeHash === configuration?.hash ? before.programmedAt : undefined
  const programmedAt = acknowledgedAt ?? (holds('Programmed') ? facts.now : undefined)
  return withoutAbsent({
    observedGeneration: gateway.metadata.generation ?? 0,
    conditions,
    address: (holds('Exposed') ? exposedAddress(facts) : undefined) ?? addressOf(facts),
    replicas: count('replicas'),
    readyReplicas: count('readyReplicas'),
    programmedReplicas: pods.filter((pod) => enforces(pod, configuration?.hash)).length,
    selector: `${GATEWAY_LABEL}=${gateway.metadata.name}`,
    activeHash: configuration?.hash,
    activeGeneration: configuration?.generation,
    activeSequence: configuration?.sequence,
    lastKnownGoodHash: facts.lastKnownGoodHash,
    programmedAt,
    keys: keys && { hash: keys.hash, sequence: keys.sequence, count: keys.records.length },
    problems: compiled === undefined ? before.problems : problemsOf(compiled.problems),
    rollouts: rolloutsIn(facts),
    pods: [...podsHeldBack(facts), ...podsOf(facts)].slice(0, PODS_MAX),
  })
}

/** Absent without a rollout. */
function rolloutsIn({ pods }: StatusFacts): RolloutStatus[] | undefined {
  const rollouts = rolloutsOf(pods.flatMap(({ report }) => report ?? []))
  if (rollouts.length === 0) return undefined
  return rollouts.map(({ route, to: upstream, phase, share, reason, changedAt }) => ({
    route,
    upstream,
    phase,
    share: String(share),
    reason,
    changedAt,
  }))
}

function addressOf({ gateway, service }: StatusFacts): string | undefined {
  const { port, name: scheme } = portOf(service) ?? {}
  if (service === undefined || typeof port !== 'number') return undefined
  const usual = scheme === 'https' ? 443 : 80
  const suffix = port === usual ? '' : `:${port}`
  const ingress = valueBelow(service, 'status', 'loadBalancer', 'ingress')
  const [first] = Array.isArray(ingress) ? ingress : []
  const outside = valueBelow(first, 'hostname') ?? valueBelow(first, 'ip')
  const { name, namespace } = gateway.metadata
  const host = typeof outside === 'string' ? outside : `${name}.${namespace}.svc`
  return `${usual === 443 ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}${suffix}`
}

function portOf(service: unknown): Readonly<Record<string, unknown>> | undefined {
  const ports = valueBelow(service, 'spec', 'ports')
  const all = Array.isArray(ports) ? ports.filter(isRecord) : []
  return all.find(({ name }) => name === 'http' || name === 'https') ?? all[0]
}

function problemsOf(findings: readonly Finding[]): StatusProblem[] {
  return findings
    .toSorted((one, other) => Number(other.severity === 'error') - Number(one.severity === 'error'))
    .slice(0, PROBLEMS_MAX)
    .map(({ severity, path, message, fix }) => ({
      severity,
      path: showPath(path).slice(0, 1024),
      message: message.slice(0, 4096),
      fix: fix.slice(0, 4096),
    }))
}

const STATES = {
  pending: 'Pending',
  acknowledged: 'Programmed',
  rejected: 'Rejected',
  unreachable: 'Unreachable',
} as const

/** Pods that do not run, so the operator cannot ask them. */
function podsHeldBack({ pods, podObjects }: StatusFacts): PodStatus[] {
  const asked = new Set(pods.map(({ target }) => target.uid))
  return podObjects.flatMap(({ metadata, ...pod }) => {
    if (metadata.deletionTimestamp !== undefined || asked.has(metadata.uid ?? '')) return []
    const error = heldBack({ metadata, ...pod })
    const { name } = metadata
    return error === undefined ? [] : [{ name, ready: false, state: 'Pending' as const, error }]
  })
}

/** Pods in trouble come first, so that a shortened list contains them. */
function podsOf({ pods, documents }: StatusFacts): PodStatus[] {
  const urgency = { Unreachable: 0, Rejected: 1, Pending: 2, Programmed: 3 }
  return pods
    .map((pod) => ({ state: STATES[pod.configuration.state], pod }))
    .toSorted(
      (one, other) =>
        urgency[one.state] - urgency[other.state] ||
        (one.pod.target.name < other.pod.target.name ? -1 : 1),
    )
    .slice(0, PODS_MAX)
    .map(({ state, pod }) => {
      const { target, report } = pod
      return withoutAbsent({
        name: target.name,
        ready: target.ready,
        state,
        hash: report?.configuration.hash,
        generation: report?.configuration.generation,
        sequence: report?.configuration.sequence,
        keysSequence: report?.keys.sequence,
        error: errorOf(pod, documents)?.slice(0, 4096),
      })
    })
}

function errorOf(pod: PodState, documents: StatusFacts['documents']): string | undefined {
  const [unusable] = unusableIn(pod, documents)
  return pod.configuration.error ?? pod.keys.error ?? (unusable && shownProblem(unusable))
}

type Present<T> = { [Name in keyof T]: Exclude<T[Name], undefined> }

/** Server-side apply distinguishes `null` from absence. */
function withoutAbsent<T extends object>(fields: T): Present<T> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The cast is safe: only undefined members are removed.
  return Object.fromEntries(present) as Present<T>
}
