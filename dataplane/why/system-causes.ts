/** Causes in the gateway's own parts and in the cluster: the store, clocks, starts, conditions, edits. */
import type { Cause, CauseRule, FactCondition, FactEvent, IncidentFacts } from './facts.ts'
import { cut, cutTwo, span } from './words.ts'

const MINUTE_MS = 60_000
/** An edit that began an incident is at most this much older. */
const EDIT_MS = 10 * MINUTE_MS
const SKEW_MS = 5000
const STARTS_MIN = 3
const LATE_MS = 100
const SAMPLES_MIN = 5

/** Redis: away now or lately, or so late that requests wait for it. */
export const sharedStore: CauseRule = ({ stores, events, requests, until }) => {
  const away = stores.filter(({ state }) => state === 'away')
  const went = events.filter(({ event, fields }) => event === 'store' && fields.state === 'away')
  const [first] = went
  const last = went.at(-1)
  const reason = away[0]?.reason ?? last?.fields.reason
  if (away.length > 0) {
    const text = `Redis does not answer ${away.length} of ${stores.length} pods${shown(reason)}`
    return [{ kind: 'store', since: last?.at, text, weight: 3 }]
  }
  if (first !== undefined && went.length >= 2) {
    const times = `${went.length} times in ${span(until - first.at)}`
    const text = `Redis went away ${times}${shown(reason)}: it answers too late, so look at its CPU`
    return [{ kind: 'store', since: first.at, text, weight: 2 }]
  }
  return stores.some(({ backend }) => backend === 'redis') ? lateStore(requests) : []
}

function shown(reason: unknown): string {
  return reason === undefined ? '' : ` (${String(reason)})`
}

/** Between the arrival and the first attempt, only the store waits for another machine. */
function lateStore(requests: IncidentFacts['requests']): Cause[] {
  const waits = requests.flatMap(({ at, attempts: [first] }) =>
    first === undefined ? [] : [{ at, ms: first.startedMs }],
  )
  const late = waits.filter(({ ms }) => ms >= LATE_MS)
  if (late.length < SAMPLES_MIN || late.length * 2 < waits.length) return []
  const sorted = late.map(({ ms }) => ms).toSorted((one, other) => one - other)
  const typical = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0)
  const wait = `requests wait ${typical} ms in the gateway before their first attempt`
  const text = `Redis answers slowly: ${wait}, so look at the CPU of Redis`
  return [{ kind: 'store', since: Math.min(...late.map(({ at }) => at)), text, weight: 2 }]
}

export const skewedClocks: CauseRule = ({ clocks, since }) => {
  const skewed = clocks.filter(({ aheadMs }) => Math.abs(aheadMs) >= SKEW_MS)
  const aheads = skewed.map(({ aheadMs }) => aheadMs)
  const isSame = Math.max(...aheads) - Math.min(...aheads) < SKEW_MS
  // Several pods do not err alike: then the clock that they are compared with is wrong.
  if (skewed.length > 1 && skewed.length === clocks.length && isSame) {
    const away = wayOf(-(aheads[0] ?? 0))
    const text = `the clock of the machine that runs this command is ${away}, compared with all pods`
    return [{ kind: 'clock', since, text, weight: 2 }]
  }
  return skewed.map(({ pod, aheadMs }) => {
    const clock = `the clock of ${pod} is ${wayOf(aheadMs)}`
    const text = `${clock}, which ends tokens, keys and windows at the wrong time`
    return { kind: 'clock', since, text, weight: 2 }
  })
}

function wayOf(aheadMs: number): string {
  return `${span(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`
}

/** A pod or gateway that starts again and again. */
export const starts: CauseRule = ({ events }) => {
  const started = events.filter(({ event }) => event === 'start')
  const byPod = Map.groupBy(started, ({ pod = 'the gateway' }) => pod)
  return [...byPod].flatMap(([pod, all]): Cause[] => {
    const [first] = all
    const last = all.at(-1)
    if (first === undefined || last === undefined || all.length < STARTS_MIN) return []
    const text = `${pod} started ${all.length} times in ${span(last.at - first.at)}`
    return [{ kind: 'starts', since: first.at, text, weight: 2 }]
  })
}

/** Another release, shortly before the beginning: as the cluster rolls it, else as the starts tell it. */
export const releases: CauseRule = ({ events }, symptom) => {
  if (symptom === undefined) return []
  const near = events.filter(({ at }) => at <= symptom.since + 1000)
  const rolled = near.findLast(({ event }) => event === 'release')
  const started = near.filter(({ event, fields }) => event === 'start' && 'version' in fields)
  const last = started.at(-1)
  const before = started.findLast(({ fields }) => fields.version !== last?.fields.version)
  const found =
    rolled ??
    (last !== undefined && before !== undefined
      ? {
          at: last.at,
          message: `${last.pod ?? 'the gateway'} runs release ${last.fields.version} instead of ${before.fields.version}`,
        }
      : undefined)
  if (found === undefined || found.at < symptom.since - EDIT_MS) return []
  return [{ kind: 'release', since: found.at, text: cut(found.message), weight: 1 }]
}

/** Conditions that are good as `False`. */
const NEGATIVE = new Set(['Degraded', 'Stalled', 'Reconciling'])
/** The worst first; Ready only repeats another. */
const JUDGED = [
  ...['Observed', 'Led', 'Accepted', 'ResolvedRefs', 'Degraded', 'Programmed', 'WorkloadAvailable'],
  ...['CertificateValid', 'Exposed', 'Verified'],
]
/** CertificateValid is True with this reason: no request fails yet. */
const SOON = 'ExpiresSoon'
/** The tool finds them by itself, because an absent operator writes no condition. */
const FOUND = new Set(['Observed', 'Led'])

export const conditions: CauseRule = ({ conditions: all }) => {
  const judged = all.filter((one) => JUDGED.includes(one.type) && isBad(one))
  const hasReferences = judged.some(({ type }) => type === 'ResolvedRefs')
  const bad = judged.filter(({ message }) => !hasReferences || !/See ResolvedRefs/.test(message))
  const inOrder = bad.toSorted(
    (one, other) => JUDGED.indexOf(one.type) - JUDGED.indexOf(other.type),
  )
  return inOrder.map(({ type, status, reason, message, since }) => {
    const what = type === 'WorkloadAvailable' ? cutTwo(message) : cut(message)
    const text = FOUND.has(type) ? what : `${what} (${type}=${status}, ${reason})`
    return { kind: reason, since, text, weight: reason === SOON ? 1 : 2 }
  })
}

function isBad({ type, status, reason }: FactCondition): boolean {
  if (NEGATIVE.has(type) || reason === SOON) return status === 'True'
  return status === 'False' && reason !== 'Paused'
}

const REFUSED = /denied|forbidden|violat|quota|not allowed|disallow|blocked/i

/** Warnings of Kubernetes: what an admission policy or a quota has refused. */
export const clusterEvents: CauseRule = ({ events }) => {
  const refused = events.filter(
    ({ event, message }) => event === 'cluster' && REFUSED.test(message),
  )
  // Each try has another name.
  const bySaid = Map.groupBy(refused, ({ message }) => message.replaceAll(/"[^"]*"/g, ''))
  return [...bySaid.values()].map((all) => ({
    kind: 'policy',
    since: all[0]?.at,
    text: `Kubernetes refuses an object (${cut(all.at(-1)?.message ?? '')})`,
    weight: 2,
  }))
}

/** A container that ends again and again, as the kubelet reports it. */
export const crashes: CauseRule = ({ events }) => {
  const all = events.filter(
    ({ event, fields }) => event === 'cluster' && fields.reason === 'BackOff',
  )
  const byPod = Map.groupBy(all, ({ fields }) => String(fields.object))
  return [...byPod].map(([pod, some]) => ({
    kind: 'starts',
    since: some[0]?.at,
    text: `${pod} starts again and again (${cut(some.at(-1)?.message ?? '')})`,
    weight: 2,
  }))
}

/** A certificate, a credential, a document: the events that say a part of the gateway failed. */
const REPORTED = new Set(['credential', 'document_refused', 'jwks', 'tokenizer', 'drain'])

export const reported: CauseRule = ({ events }, symptom) => {
  const bySaid = Map.groupBy(
    events.filter(({ event }) => REPORTED.has(event)),
    ({ message }) => message,
  )
  const begin = symptom?.since ?? Number.POSITIVE_INFINITY
  return [...bySaid].map(([message, all]) => {
    const since = all.at(-1)?.at
    const isBefore = since !== undefined && since <= begin && since >= begin - EDIT_MS
    return { kind: all[0]?.event ?? 'event', since, text: cut(message), weight: isBefore ? 2 : 1 }
  })
}

/** An edit shortly before the beginning. */
export const edits: CauseRule = ({ events }, symptom) => {
  if (symptom === undefined) return []
  const { since, requests } = symptom
  // The history knows the minute of the first failure only.
  const isMinute = requests.every(({ at }) => at > since)
  const latest = since + (isMinute ? MINUTE_MS : 1000)
  const edit = events.findLast(
    (one) => isEdit(one) && one.at <= latest && one.at >= since - EDIT_MS,
  )
  if (edit === undefined) return []
  const before = span(Math.max(0, since - edit.at))
  const when = isMinute && edit.at > since ? 'in that minute' : `${before} before`
  const text = `the configuration was edited ${when}`
  return [{ kind: 'edit', since: edit.at, text, weight: 1 }]
}

export function isEdit({ event, fields }: FactEvent): boolean {
  return event === 'config_reload' && fields.result === 'success'
}

/** A configuration that was refused is not what the gateway does, although its author may believe so. */
export const refusedEdits: CauseRule = ({ events }) => {
  const last = events.findLast(({ event }) => event === 'config_reload')
  if (last?.fields.result !== 'failure') return []
  const { reason } = last.fields
  const why = reason === undefined ? '' : ` (${cut(String(reason))})`
  const text = `the newest configuration was refused${why}, and the one before is in force`
  return [{ kind: 'refused_edit', since: last.at, text, weight: 2 }]
}
