/** Finds what failed: requests of one route with one refusal, since when, and how many of all. */
import type { FactRequest, FaultKind, Flow, IncidentFacts, Minute, Symptom } from './facts.ts'

const MINUTE_MS = 60_000
/** Failures with a longer pause between them are two incidents. */
const PAUSE_MS = 15 * MINUTE_MS
const CLIENT_LEFT = 499
const FIRST_FAILURE = 400
/** Fewer failures of clients than this share are usual. */
const USUAL = 0.02

const FAULTS = ['outage', 'limit', 'client'] as const

/** The most serious one first: outages, then refusals by limits, then mistakes of clients. */
export function symptomsIn(facts: IncidentFacts): Symptom[] {
  const failed = facts.requests.filter((one) => isAsked(one, facts) && isFailed(one))
  const groups = Map.groupBy(failed, ({ route, status, code }) => `${route} ${status} ${code}`)
  const remembered = [...groups.values()].map((group) => symptomOf(group, facts))
  const all = [...remembered, ...forgotten(remembered, facts)]
  return all.toSorted(
    (one, other) =>
      FAULTS.indexOf(one.fault) - FAULTS.indexOf(other.fault) ||
      other.requests.length - one.requests.length ||
      other.until - one.until,
  )
}

export function isAsked({ route, tenant, id }: FactRequest, { asked }: IncidentFacts): boolean {
  if (asked.request !== undefined) return id === asked.request
  const isOfRoute = asked.route === undefined || route === asked.route
  return isOfRoute && (asked.tenant === undefined || tenant === asked.tenant)
}

function isFailed({ status }: FactRequest): boolean {
  return status >= FIRST_FAILURE && status !== CLIENT_LEFT
}

function faultOf({ status, code }: Pick<FactRequest, 'status' | 'code'>): FaultKind {
  if (code === 'ERR_GW_RATE_LIMIT_LOCAL' || code === 'ERR_GW_BUDGET_EXCEEDED') return 'limit'
  return status >= 500 || code === 'ERR_GW_UPSTREAM_RATE_LIMIT' ? 'outage' : 'client'
}

/** Only the last run of failures: an earlier incident has its own causes. */
function symptomOf(group: readonly FactRequest[], facts: IncidentFacts): Symptom {
  const newest = group.toSorted((one, other) => other.at - one.at)
  const end = newest.findIndex(({ at }, index) => (newest[index - 1]?.at ?? at) - at > PAUSE_MS)
  const run = end === -1 ? newest : newest.slice(0, end)
  const [last] = run
  const first = run.at(-1)
  if (last === undefined || first === undefined) throw new Error('a group has requests')
  const tenants = new Set(run.map(({ tenant }) => tenant))
  const { route, status, code = '' } = last
  const fault = faultOf(last)
  const share = shareOf(run, fault, facts)
  const flow = flowOf(route, facts)
  const since = flow === undefined ? first.at : beginningOf(first.at, fault, flow)
  const tenant = tenants.size === 1 ? last.tenant : undefined
  return { fault, route, tenant, status, code, share, since, until: last.at, requests: run }
}

/** Gateways forget old requests, and the history has the minute in which the failures began. */
function beginningOf(known: number, fault: FaultKind, { minutes }: Flow): number {
  let since = known
  for (const minute of minutes.toReversed()) {
    if (minute.at > known) continue
    if (minute.at < since - PAUSE_MS) break
    if (failuresIn(minute, fault) > 0 && minute.at + MINUTE_MS <= since) since = minute.at
  }
  return since
}

function failuresIn({ upstream, gateway, limit, client }: Minute, fault: FaultKind): number {
  if (fault === 'outage') return upstream + gateway
  return fault === 'limit' ? limit : client
}

function flowOf(route: string, { flows, asked }: IncidentFacts): Flow | undefined {
  const ofTenant = flows.find(({ by, name }) => by === 'tenant' && name === asked.tenant)
  return ofTenant ?? flows.find(({ by, name }) => by === 'route' && name === route)
}

/** By the history if it covers the time, else by the requests that are remembered. */
function shareOf(run: readonly FactRequest[], fault: FaultKind, facts: IncidentFacts): number {
  const [last] = run
  const first = run.at(-1)
  if (last === undefined || first === undefined) return 0
  const flow = flowOf(last.route, facts)
  const counted = flow?.minutes.filter(({ at }) => at + MINUTE_MS > first.at && at <= last.at)
  const share = counted && shareIn(counted, fault)
  if (flow !== undefined && share !== undefined) return share * partOf(run, fault, flow, facts)
  const beside = facts.requests.filter(
    (one) =>
      one.route === last.route && one.at >= first.at && one.at <= last.at && isAsked(one, facts),
  )
  return run.length / Math.max(1, beside.length)
}

/** The history counts failures by fault alone. The run is its part of those that are remembered. */
function partOf(
  run: readonly FactRequest[],
  fault: FaultKind,
  { by, name }: Flow,
  facts: IncidentFacts,
): number {
  const [last] = run
  const first = run.at(-1)
  if (last === undefined || first === undefined) return 1
  const alike = facts.requests.filter(
    (one) =>
      (by === 'tenant' ? one.tenant : one.route) === name &&
      one.at >= first.at &&
      one.at <= last.at &&
      isFailed(one) &&
      faultOf(one) === fault,
  )
  return run.length / Math.max(run.length, alike.length)
}

function shareIn(minutes: readonly Minute[], fault: FaultKind): number | undefined {
  const all = minutes.reduce((sum, { requests }) => sum + requests, 0)
  const failed = minutes.reduce((sum, minute) => sum + failuresIn(minute, fault), 0)
  return all > 0 && failed > 0 ? failed / all : undefined
}

/** Failures that only the history counts: the gateways have started since, or many requests came after them. */
function forgotten(remembered: readonly Symptom[], facts: IncidentFacts): Symptom[] {
  const { flows, asked, since: begin } = facts
  if (asked.request !== undefined) return []
  const wanted = flows.filter(({ by, name }) =>
    asked.tenant === undefined
      ? by === 'route' && (asked.route === undefined || name === asked.route)
      : by === 'tenant' && name === asked.tenant,
  )
  return wanted.flatMap((flow) =>
    FAULTS.flatMap((fault): Symptom[] => {
      const isKnown = remembered.some((one) => one.fault === fault && one.route === flow.name)
      const bad = flow.minutes.filter(
        // A minute that began earlier may have failed earlier.
        (minute) => minute.at >= begin && failuresIn(minute, fault) > 0,
      )
      const last = bad.at(-1)
      if (isKnown || last === undefined || (remembered.length > 0 && flow.by === 'tenant'))
        return []
      const since = beginningOf(last.at, fault, flow)
      const run = flow.minutes.filter(({ at }) => at >= since && at <= last.at)
      const share = shareIn(run, fault) ?? 0
      if (share < USUAL) return []
      const who =
        flow.by === 'route'
          ? { route: flow.name, tenant: undefined }
          : { route: asked.route ?? 'all routes', tenant: flow.name }
      return [{ fault, ...who, status: 0, code: '', share, since, until: last.at, requests: [] }]
    }),
  )
}
