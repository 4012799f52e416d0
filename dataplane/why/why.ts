/** IncidentFacts to sentences: what fails since when, and the causes, the newest first among those that are equally sure. */
import { endedKeys, refusals, shadowedNames, spentBudgets } from './client-causes.ts'
import type { Cause, CauseRule, FactEvent, IncidentFacts, Symptom } from './facts.ts'
import { isAsked, symptomsIn } from './symptoms.ts'
import {
  clusterEvents,
  conditions,
  crashes,
  edits,
  isEdit,
  refusedEdits,
  releases,
  reported,
  sharedStore,
  skewedClocks,
  starts,
} from './system-causes.ts'
import {
  failedAttempts,
  missedObjectives,
  slowReplica,
  upstreamsOut,
  wentOut,
} from './upstream-causes.ts'
import { clockTime, percent, span } from './words.ts'

const RULES: readonly CauseRule[] = [
  shadowedNames,
  endedKeys,
  refusals,
  failedAttempts,
  upstreamsOut,
  wentOut,
  spentBudgets,
  slowReplica,
  missedObjectives,
  sharedStore,
  skewedClocks,
  conditions,
  clusterEvents,
  crashes,
  reported,
  starts,
  refusedEdits,
  releases,
  edits,
]

const SYMPTOMS_SHOWN = 3
const CAUSES_SHOWN = 3
const EVENTS_SHOWN = 100
/** A cause that began this much before the failures may still be theirs. */
const NEAR_MS = 15 * 60_000

export interface Reasons {
  /** The first one names the cause. */
  readonly sentences: readonly string[]
  readonly incidents: readonly Incident[]
  /** All events of the span, newest first. */
  readonly timeline: readonly FactEvent[]
}

export interface Incident {
  readonly symptom: (Omit<Symptom, 'requests'> & { readonly requests: number }) | undefined
  readonly causes: readonly Cause[]
}

export function reasonsIn(facts: IncidentFacts): Reasons {
  const symptoms = symptomsIn(facts).slice(0, SYMPTOMS_SHOWN)
  const found = symptoms.length === 0 ? [undefined] : symptoms
  const incidents = found.map((symptom) => ({ symptom, causes: causesOf(symptom, facts) }))
  return {
    sentences: [
      ...incidents.map(({ symptom, causes }) => sentence(symptom, causes, facts)),
      ...facts.missing.map((one) => `Not asked: ${one}.`),
    ],
    incidents: incidents.map(({ symptom, causes }) => ({
      symptom: symptom && { ...symptom, requests: symptom.requests.length },
      causes,
    })),
    timeline: facts.events.toReversed().slice(0, EVENTS_SHOWN),
  }
}

/** The surest first; then those near the beginning, then the newest. */
function causesOf(symptom: Symptom | undefined, facts: IncidentFacts): Cause[] {
  const begin = symptom?.since
  const isNear = ({ since }: Cause) =>
    begin !== undefined && since !== undefined && since >= begin - NEAR_MS
  const all = RULES.flatMap((rule) => rule(facts, symptom))
  const known = [...new Map(all.map((cause) => [cause.text, cause])).values()]
  return known.toSorted(
    (one, other) =>
      other.weight - one.weight ||
      Number(isNear(other)) - Number(isNear(one)) ||
      (other.since ?? 0) - (one.since ?? 0),
  )
}

function sentence(
  symptom: Symptom | undefined,
  causes: readonly Cause[],
  facts: IncidentFacts,
): string {
  const shown = causes
    .slice(0, CAUSES_SHOWN)
    .map(({ kind, text, since }) =>
      kind === 'edit' ? text : `${text}${sinceText(since, symptom, facts)}`,
    )
  const clauses = [...shown, ...editClause(causes, facts)]
  const what = symptom === undefined ? nothingFailed(facts) : failed(symptom, facts)
  if (shown.length > 0) return `${what}: ${clauses.join('; ')}.`
  const none = symptom === undefined ? 'no cause of trouble is known' : 'the cause is not known'
  return `${what}; ${[none, ...clauses].join('; ')}.`
}

const WORDS = {
  outage: 'upstreams or the gateway fail',
  limit: 'limits refuse',
  client: 'the gateway refuses as not valid',
} as const

function failed(symptom: Symptom, { until, asked, requests }: IncidentFacts): string {
  const { route, tenant, status, code, share, since, fault } = symptom
  const [first] = symptom.requests
  if (asked.request !== undefined && first !== undefined) {
    const by = tenant === undefined ? '' : ` of tenant ${tenant}`
    return `Request ${first.id}${by} got ${status} ${code} at ${clockTime(first.at, until)}`
  }
  const isOfOne = tenant !== undefined && requests.some((one) => one.tenant !== tenant)
  const whose = asked.tenant !== undefined || isOfOne ? ` of tenant ${tenant ?? asked.tenant}` : ''
  const who = route === 'none' ? 'the gateway' : route
  const answers = status === 0 ? WORDS[fault] : `${who} answers ${status} for`
  const what = `${answers} ${percent(share)} requests${whose}${status === 0 ? ` to ${who}` : ''}`
  const isOver = until - symptom.until > NEAR_MS
  const time = clockTime(since, until)
  if (!isOver) return `Since ${time} ${what}`
  return `From ${time} to ${clockTime(symptom.until, until)} ${what.replace('answers', 'answered').replace('fail', 'failed')}`
}

function nothingFailed(facts: IncidentFacts): string {
  const { asked, requests, since, until } = facts
  if (asked.request !== undefined) {
    const found = requests.find(({ id }) => id === asked.request)
    return found === undefined
      ? `No gateway remembers request ${asked.request}`
      : `Request ${found.id} got ${found.status} at ${clockTime(found.at, until)}`
  }
  const of = asked.route ?? (asked.tenant === undefined ? undefined : `tenant ${asked.tenant}`)
  const some = requests.filter((one) => isAsked(one, facts)).length
  const what = of === undefined ? 'No request' : `No request of ${of}`
  return `${what} failed since ${clockTime(since, until)} (${some} are remembered)`
}

/** Only if it differs from the beginning of the failures. */
function sinceText(
  at: number | undefined,
  symptom: Symptom | undefined,
  { until }: IncidentFacts,
): string {
  const isSame = at === undefined || Math.abs(at - (symptom?.since ?? 0)) < 1000
  return isSame ? '' : ` since ${clockTime(at, until)}`
}

/** Whether an edit may be the cause is what people ask first. */
function editClause(causes: readonly Cause[], { events, since, until }: IncidentFacts): string[] {
  if (causes.slice(0, CAUSES_SHOWN).some(({ kind }) => kind === 'edit')) return []
  const edit = causes.find(({ kind }) => kind === 'edit')
  if (edit !== undefined) return [edit.text]
  const last = events.findLast(isEdit)
  return [`nothing was edited for ${span(until - (last?.at ?? since))}`]
}
