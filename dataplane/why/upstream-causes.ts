/** Causes at upstreams: what failed attempts say, which upstreams get no requests, which replica is slow. */
import type {
  Cause,
  CauseRule,
  FactAttempt,
  FactRequest,
  IncidentFacts,
  UpstreamState,
} from './facts.ts'
import { isEdit } from './system-causes.ts'
import { cut } from './words.ts'

const WORDS: Readonly<Record<string, (name: string) => string>> = {
  credential: (name) => `upstream ${name} refuses the gateway's credential`,
  quota: (name) => `the quota of upstream ${name} is used up`,
  rate_limited: (name) => `upstream ${name} limits the rate of the gateway's requests`,
  connect: (name) => `upstream ${name} cannot be reached`,
  reset: (name) => `upstream ${name} breaks connections off`,
  timeout: (name) => `upstream ${name} sends no answer in time`,
  tls: (name) => `the TLS certificate of upstream ${name} is refused`,
  missing: (name) => `upstream ${name} does not know the model or the path`,
  overloaded: (name) => `upstream ${name} is overloaded`,
  server: (name) => `upstream ${name} answers with errors`,
  malformed: (name) => `upstream ${name} sends answers that make no sense`,
}

const OUTAGES = new Set(['ERR_GW_NO_HEALTHY_UPSTREAM', 'ERR_GW_UPSTREAM_ERROR', ''])

interface Failed extends FactAttempt {
  readonly at: number
}

/** In the words of the upstream. */
export const failedAttempts: CauseRule = (facts, symptom) => {
  const asked = symptom === undefined ? [] : failuresIn(symptom.requests)
  // A breaker that is open hides the reason from later requests, but not from earlier ones.
  const isHidden = symptom !== undefined && asked.length === 0 && OUTAGES.has(symptom.code)
  const members = isHidden ? upstreamsOf(symptom.route, facts) : undefined
  const before = isHidden
    ? failuresIn(facts.requests).filter(({ upstream }) => members?.has(upstream) ?? true)
    : []
  const found = [...asked, ...before]
  const groups = Map.groupBy(found, ({ upstream, outcome }) => `${upstream} ${outcome}`)
  return [...groups.values()].flatMap((group): Cause[] => {
    const [first] = group
    const words = first && WORDS[first.outcome]
    if (first === undefined || words === undefined) return []
    const last = group.at(-1)
    const said = [last?.status, last?.reason && cut(last.reason)].filter(Boolean).join(' ')
    const text = `${words(first.upstream)}${said === '' ? '' : ` (${said})`}`
    const state = statesOf(first.upstream, facts)
    return [
      {
        kind: first.outcome,
        since: Math.min(...group.map(({ at }) => at)),
        text: state === undefined ? text : `${text}, and ${state}`,
        weight: 3,
      },
    ]
  })
}

function failuresIn(requests: readonly FactRequest[]): Failed[] {
  return requests.flatMap(({ at, attempts }) =>
    attempts.filter(({ outcome }) => outcome in WORDS).map((attempt) => ({ ...attempt, at })),
  )
}

/** Those that requests of the route have tried; undefined if none is remembered. */
function upstreamsOf(route: string, { requests }: IncidentFacts): ReadonlySet<string> | undefined {
  const tried = requests
    .filter((one) => one.route === route)
    .flatMap(({ attempts }) => attempts.map(({ upstream }) => upstream))
  return tried.length === 0 ? undefined : new Set(tried)
}

/** `it is unhealthy in 2 of 3 pods`. */
function statesOf(name: string, { upstreams }: IncidentFacts): string | undefined {
  const own = upstreams.filter((one) => one.name === name)
  const out = own.filter(({ eligible }) => !eligible)
  const [first] = out
  if (first === undefined) return undefined
  return `it gets no requests${inPods(out.length, own.length)} (${first.why ?? 'out'})`
}

function inPods(some: number, all: number): string {
  return all > 1 ? ` in ${some} of ${all} pods` : ''
}

/** Upstreams that get no requests now, for any reason. */
export const upstreamsOut: CauseRule = (facts, symptom) => {
  if (symptom !== undefined && symptom.fault !== 'outage') return []
  const members = symptom && upstreamsOf(symptom.route, facts)
  const isUnresolved = facts.conditions.some(
    ({ type, status }) => type === 'ResolvedRefs' && status === 'False',
  )
  const byName = Map.groupBy(facts.upstreams, ({ name }: UpstreamState) => name)
  return [...byName].flatMap(([name, states]): Cause[] => {
    const out = states.filter(({ eligible }) => !eligible)
    const [first] = out
    if (first === undefined || members?.has(name) === false) return []
    // The condition names the reference.
    if (isUnresolved && first.why?.startsWith('reference unresolved')) return []
    const isOfUpstream = ({
      fields,
    }: {
      readonly fields: IncidentFacts['events'][number]['fields']
    }) => fields.upstream === name
    const event = facts.events.findLast(
      (one) => (one.event === 'health' || one.event === 'breaker') && isOfUpstream(one),
    )
    const text = `upstream ${name} is out${inPods(out.length, states.length)} (${first.why ?? 'not eligible'})`
    return [{ kind: 'out', since: event?.at, text, weight: 2 }]
  })
}

const SLOW_TIMES = 4
const SLOW_MS = 500
const SAMPLES_MIN = 3

/** One address or pod that answers much later than the others of its upstream. */
export const slowReplica: CauseRule = (facts, symptom) => {
  const { requests } = facts
  const members = symptom && upstreamsOf(symptom.route, facts)
  const times = requests.flatMap(({ attempts, at }) =>
    attempts
      .filter(({ outcome, endpoint }) => outcome === 'ok' && endpoint !== undefined)
      .filter(({ upstream }) => members?.has(upstream) ?? true)
      .map((one) => ({ ...one, at, ms: one.endedMs - one.startedMs })),
  )
  const byUpstream = Map.groupBy(times, ({ upstream }) => upstream)
  return [...byUpstream].flatMap(([upstream, all]): Cause[] => {
    const byEndpoint = [...Map.groupBy(all, ({ endpoint = '' }) => endpoint)]
      .filter(([, some]) => some.length >= SAMPLES_MIN)
      .map(([endpoint, some]) => ({ endpoint, some, ms: median(some.map(({ ms }) => ms)) }))
      .toSorted((one, other) => other.ms - one.ms)
    const [slowest, next] = byEndpoint
    if (slowest === undefined || next === undefined) return []
    if (slowest.ms < SLOW_MS || slowest.ms < next.ms * SLOW_TIMES) return []
    const others = `${next.ms} ms or less at the other ${byEndpoint.length - 1}`
    const replica = `replica ${slowest.endpoint} of upstream ${upstream}`
    const text = `${replica} is slow: its median answer takes ${slowest.ms} ms, ${others}`
    const late = slowest.some.filter(({ ms }) => ms >= SLOW_MS).map(({ at }) => at)
    return [{ kind: 'slow_replica', since: Math.min(...late), text, weight: 3 }]
  })
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0)
}

/** Routes whose streams begin too late: as each pod reported last, if nothing was edited since. */
export const missedObjectives: CauseRule = ({ events, asked }, symptom) => {
  const edited = events.findLast(isEdit)?.at ?? 0
  const route = symptom?.route ?? asked.route
  const judged = events.filter(
    ({ event, at, fields }) =>
      event === 'slo' && at > edited && (route === undefined || fields.route === route),
  )
  const byPod = Map.groupBy(judged, ({ pod, fields }) => `${pod} ${fields.route}`)
  const last = [...byPod.values()].flatMap((all) => all.at(-1) ?? [])
  return last
    .filter(({ fields }) => fields.type === 'ttft_slo_breach')
    .map(({ at, message }) => ({ kind: 'objective', since: at, text: cut(message), weight: 2 }))
}

/** Longer ago, an event tells what no request does any more. */
const NEAR_MS = 10 * 60_000

/** Upstreams that went out shortly before the failures began. */
export const wentOut: CauseRule = ({ events }, symptom) => {
  if (symptom === undefined || symptom.requests.length > 0) return []
  const began = events.filter(
    ({ at, event, fields }) =>
      (event === 'breaker' || event === 'health') &&
      (fields.to === 'open' || fields.to === 'unhealthy') &&
      Math.abs(at - symptom.since) <= NEAR_MS,
  )
  const byUpstream = Map.groupBy(began, ({ fields }) => String(fields.upstream))
  return [...byUpstream].map(([name, all]): Cause => {
    const how = all.some(({ event }) => event === 'health')
      ? 'became unhealthy'
      : 'opened its breaker'
    return { kind: 'out', since: all[0]?.at, text: `upstream ${name} ${how}`, weight: 2 }
  })
}
