/** Running requests, as traces that have not ended. */
import type { Gateway, Underway } from '../../gateway/gateway.ts'

/** The oldest first, because people look for requests that hang. */
export function runningOf({ visits, clock }: Gateway, limit: number) {
  const now = clock.now()
  const oldest = visits
    .list()
    .filter(isModelRequest)
    .sort((one, other) => one.call.receivedAt - other.call.receivedAt)
  return oldest.slice(0, limit).map((visit) => shown(visit, now))
}

export function runningWith(id: string, { visits, clock }: Gateway) {
  const found = visits.list().find(({ trace }) => trace.request_id === id || trace.trace_id === id)
  return found && shown(found, clock.now())
}

/** Probes and lists of models end at once. */
function isModelRequest({ trace }: Underway): boolean {
  return trace.method === 'POST'
}

function shown({ trace, call }: Underway, now: number) {
  const upstream = trace.attempts.at(-1)?.upstream ?? trace.upstream
  return { ...trace, upstream, duration_ms: now - call.receivedAt, running: true }
}
