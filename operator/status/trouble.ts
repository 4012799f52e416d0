/** Why pods are missing or not ready, as Kubernetes and the pods report it. */
import { isRecord, parsed, valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { StatusFacts } from './facts.ts'

type Facts = Pick<StatusFacts, 'deployment' | 'pods' | 'podObjects'>

const LENGTH_MAX = 600
/** A line of the log, perhaps cut: Kubernetes keeps the last 2 KiB. */
const ENTRY = /^\{|":.*\}$/
const FAULTS = new Set(['error', 'warn'])
/** Waiting reasons of a container that starts normally. */
const USUAL = new Set(['ContainerCreating', 'PodInitializing'])

const FIXES: readonly (readonly [of: RegExp, fix: string])[] = [
  [/Image|Inspect/, 'Correct spec.image or spec.imagePullSecrets, or push the image.'],
  [
    /ContainerConfig/,
    'Create the object that the message names, or correct spec.env and spec.envFrom.',
  ],
  [/CrashLoop|Error/, 'Look at its log.'],
]

/** One or two sentences; undefined if no trouble is known. */
export function troubleOf(facts: Facts): string | undefined {
  return refusalOf(facts.deployment) ?? podTrouble(facts)
}

/** Kubernetes does not create the pods, because of a quota, a policy or an admission webhook. */
function refusalOf(deployment: KubeObject | undefined): string | undefined {
  const failure = conditionOf(deployment, 'ReplicaFailure')
  if (failure?.status !== 'True') return undefined
  const fix = 'Change what forbids it, or spec.resources and the like.'
  return `Kubernetes refuses to create pods: ${sentence(failure.message)} ${fix}`
}

function podTrouble({ pods, podObjects }: Facts): string | undefined {
  const refusing = new Map(
    pods
      .filter(({ configuration }) => configuration.state === 'rejected')
      .map(({ target, configuration }) => [target.uid, configuration.error ?? 'not said why']),
  )
  const found = podObjects.flatMap((pod) => {
    if (pod.metadata.deletionTimestamp !== undefined || isReady(pod)) return []
    const refusal = refusing.get(pod.metadata.uid ?? '')
    const why = heldBack(pod) ?? (refusal && `refuses its configuration: ${sentence(refusal)}`)
    return why === undefined ? [] : [`Pod ${pod.metadata.name} ${why}`]
  })
  const [first] = found
  if (first === undefined) return undefined
  return found.length === 1 ? first : `${first} (and ${found.length - 1} more pods in trouble)`
}

/** Why the pod does not start; undefined if it runs or is starting. */
export function heldBack(pod: KubeObject): string | undefined {
  return failed(pod) ?? unscheduled(pod) ?? waitingContainer(pod)
}

function failed({ status }: KubeObject): string | undefined {
  if (valueBelow(status, 'phase') !== 'Failed') return undefined
  const reason = text(valueBelow(status, 'reason')) || 'Failed'
  return `has failed (${reason}): ${sentence(valueBelow(status, 'message'))}`
}

function unscheduled(pod: KubeObject): string | undefined {
  const scheduled = conditionOf(pod, 'PodScheduled')
  if (scheduled?.status !== 'False') return undefined
  const fix = 'Make room, or change spec.resources, nodeSelector, tolerations or affinity.'
  return `finds no node: ${sentence(scheduled.message)} ${fix}`
}

function waitingContainer({ status }: KubeObject): string | undefined {
  const statuses = valueBelow(status, 'containerStatuses')
  for (const container of Array.isArray(statuses) ? statuses : []) {
    const reason = text(valueBelow(container, 'state', 'waiting', 'reason'))
    if (reason === '' || USUAL.has(reason)) continue
    const [, fix = 'Look at its events.'] = FIXES.find(([of]) => of.test(reason)) ?? []
    const ended = endOf(valueBelow(container, 'lastState', 'terminated'))
    const says = ended ?? sentence(valueBelow(container, 'state', 'waiting', 'message'))
    return `does not start (${reason}): ${says} ${fix}`
  }
  return undefined
}

/** How the container ended last, in the words of its log if there are any. */
function endOf(terminated: unknown): string | undefined {
  if (!isRecord(terminated)) return undefined
  const reason = text(terminated.reason) || 'Error'
  const said = lastWords(text(terminated.message))
  const code = `it ended with ${terminated.exitCode ?? 'no code'} (${reason})`
  return said === '' ? `${code}.` : `${code}: ${sentence(said)}`
}

/** The log is JSON, and only its errors explain an exit; an error before the log starts is plain text. */
function lastWords(log: string): string {
  for (const line of log.trimEnd().split('\n').reverse()) {
    if (!ENTRY.test(line)) return line
    const entry = parsed(line)
    if (FAULTS.has(text(valueBelow(entry, 'level')))) return text(valueBelow(entry, 'message'))
  }
  return ''
}

function conditionOf(object: KubeObject | undefined, type: string) {
  const conditions = valueBelow(object, 'status', 'conditions')
  const found: unknown = Array.isArray(conditions)
    ? conditions.find((condition) => valueBelow(condition, 'type') === type)
    : undefined
  return isRecord(found) ? found : undefined
}

function isReady(pod: KubeObject): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True'
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function sentence(value: unknown): string {
  const said = text(value).trim().slice(0, LENGTH_MAX) || 'not said why'
  return /[.!?]$/.test(said) ? said : `${said}.`
}
