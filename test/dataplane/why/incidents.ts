/** IncidentFacts of planted incidents: requests, events and states, in a few words each. */
import type {
  FactAttempt,
  FactCondition,
  FactEvent,
  FactRequest,
  IncidentFacts,
  UpstreamState,
} from '../../../dataplane/why/facts.ts'

export const T0 = Date.parse('2026-11-26T14:00:00Z')
export const UNTIL = T0 + 30 * 60_000
const SECOND = 1000

let ids = 0

export function request(seconds: number, more: Partial<FactRequest> = {}): FactRequest {
  return {
    at: T0 + seconds * SECOND,
    id: `r-${++ids}`,
    pod: 'gw-a',
    tenant: 'acme',
    model: 'chat',
    route: 'chat',
    status: 200,
    attempts: [attempt('llama')],
    ...more,
  }
}

export function attempt(
  upstream: string,
  outcome = 'ok',
  more: Partial<FactAttempt> = {},
): FactAttempt {
  return { upstream, outcome, startedMs: 2, endedMs: 200, ...more }
}

/** One each half minute, from minute to minute. */
export function every(
  [from, to]: readonly [number, number],
  make: (seconds: number, index: number) => FactRequest,
): FactRequest[] {
  const count = Math.round((to - from) * 2)
  return Array.from({ length: count }, (_, index) => make(from * 60 + index * 30, index))
}

export function event(
  minutes: number,
  name: string,
  message: string,
  fields: FactEvent['fields'] = {},
  pod = 'gw-a',
): FactEvent {
  return { at: T0 + minutes * 60_000, event: name, message, fields, pod }
}

export const edited = (minutes: number) =>
  event(minutes, 'config_reload', 'The configuration was taken.', { result: 'success', hash: 'h' })

export function out(name: string, why: string, pods: readonly [number, number] = [1, 1]) {
  const [struck, all] = pods
  return Array.from(
    { length: all },
    (_, index): UpstreamState => ({
      name,
      pod: `gw-${index}`,
      eligible: index >= struck,
      ...(index < struck && { why }),
    }),
  )
}

export function condition(
  type: string,
  status: string,
  reason: string,
  message: string,
): FactCondition {
  return { type, status, reason, message, since: T0 + 10 * 60_000 }
}

export function facts(more: Partial<IncidentFacts> = {}): IncidentFacts {
  return {
    since: T0,
    until: UNTIL,
    asked: {},
    flows: [],
    events: [],
    upstreams: [],
    stores: [{ pod: 'gw-a', backend: 'memory' }],
    aliases: {},
    clocks: [],
    conditions: [],
    missing: [],
    ...more,
    requests: more.requests ?? every([0, 30], (at) => request(at)),
  }
}
