/** Ids of others that a request carries: the client's own, and W3C trace context. Malformed ids are ignored. */
import { hash } from 'node:crypto'
import { maskKeys } from '../base/shown-text.ts'
import type { Incoming } from '../call.ts'
import type { Trace } from './traces.ts'

/** The ids that go upstream with a request: the gateway's, the client's, and the headers that carry them. */
export interface Continued {
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Names and values, alternating. */
  readonly headers: readonly string[]
}

const ID = /^[!-~]{1,128}$/
/** Version, trace, parent, flags. Later versions may add fields behind them. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/
const TRACEPARENT_LENGTH = 55
const STATE_LENGTH_MAX = 512
const STATE_MEMBERS_MAX = 32
const STATE_MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/
const NONE: readonly string[] = []

/** Writes the ids that arrived into the trace. */
export function correlate(incoming: Pick<Incoming, 'header'>, trace: Trace): void {
  trace.client_request_id = visibleId(incoming.header('x-request-id'))
  const traceparent = incoming.header('traceparent')
  if (traceparent === undefined || !isTraceparent(traceparent)) return
  trace.traceparent = traceparent.slice(0, TRACEPARENT_LENGTH)
  trace.trace_id = traceparent.slice(3, 35)
  const tracestate = incoming.header('tracestate')
  if (tracestate !== undefined && isTracestate(tracestate)) trace.tracestate = tracestate
}

/** An id as it may be logged and sent on. A key that a client sent as an id may not. */
export function visibleId(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string' || !ID.test(value)) return undefined
  return maskKeys(value) === value ? value : undefined
}

/** The trace goes on with its id; the gateway is the parent of what the upstream does. */
export function continuing(trace: Trace): Continued {
  const { request_id: requestId, client_request_id: clientRequestId, traceparent } = trace
  if (clientRequestId === undefined && traceparent === undefined) {
    return { requestId, clientRequestId, headers: NONE }
  }
  const headers: string[] = []
  if (clientRequestId !== undefined) headers.push('x-client-request-id', clientRequestId)
  if (traceparent !== undefined) {
    const span = hash('sha256', requestId).slice(0, 16)
    headers.push('traceparent', `00-${trace.trace_id}-${span}-${traceparent.slice(-2)}`)
    if (trace.tracestate !== undefined) headers.push('tracestate', trace.tracestate)
  }
  return { requestId, clientRequestId, headers }
}

function isTraceparent(text: string): boolean {
  return TRACEPARENT.test(text) && (text.length === TRACEPARENT_LENGTH || !text.startsWith('00'))
}

function isTracestate(text: string): boolean {
  if (text.length === 0 || text.length > STATE_LENGTH_MAX) return false
  // An empty member is allowed, because lists are joined carelessly.
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
  const given = members.filter((member) => member !== '')
  if (given.length === 0 || members.length > STATE_MEMBERS_MAX) return false
  return given.every((member) => STATE_MEMBER.test(member))
}
