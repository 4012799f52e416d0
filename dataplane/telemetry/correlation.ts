/** Foreign ids of a request: the client's id, and W3C trace context. Malformed ids are ignored. */
import { hash } from 'node:crypto'
import { maskKeys } from '../base/shown-text.ts'
import type { Incoming } from '../call/call.ts'
import type { AttemptTrace, Trace } from './trace/fields.ts'

/** The ids that are sent upstream with a request: the gateway's, the client's, and their headers. */
export interface Continued {
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** Names and values, alternating. */
  readonly headers: readonly string[]
  /** The trace to continue, if there is one. */
  readonly context: TraceContext | undefined
}

/** W3C trace context for attempts. */
interface TraceContext {
  readonly traceId: string
  readonly flags: string
  readonly state: string | undefined
  /** The parent span of the upstream's work: that of the attempt, or the same for the whole request. */
  readonly spanId: () => string
}

/** Makes ids of spans. */
export interface SpanIds {
  spanId(): string
}

const ID = /^[!-~]{1,128}$/
/** Version, trace, parent, flags. Later versions may add fields at the end. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/
const TRACEPARENT_LENGTH = 55
const STATE_LENGTH_MAX = 512
const STATE_MEMBERS_MAX = 32
const STATE_MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/
const NONE: readonly string[] = []

/** Writes the received ids into the trace. */
export function correlate(incoming: Pick<Incoming, 'header'>, trace: Trace): void {
  trace.client_request_id = visibleId(incoming.header('x-request-id'))
  const traceparent = incoming.header('traceparent')
  if (traceparent === undefined || !isTraceparent(traceparent)) return
  trace.traceparent = traceparent.slice(0, TRACEPARENT_LENGTH)
  trace.trace_id = traceparent.slice(3, 35)
  const tracestate = incoming.header('tracestate')
  if (tracestate !== undefined && isTracestate(tracestate)) trace.tracestate = tracestate
}

/** An id that may be logged and forwarded; undefined for a key that a client sent as an id. */
export function visibleId(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string' || !ID.test(value)) return undefined
  return maskKeys(value) === value ? value : undefined
}

/** Continues the trace with its id; the gateway is the parent of the upstream's spans. */
export function continuing(trace: Trace, tracing?: SpanIds): Continued {
  const { request_id: requestId, client_request_id: clientRequestId } = trace
  const headers = clientRequestId === undefined ? NONE : ['x-client-request-id', clientRequestId]
  return { requestId, clientRequestId, headers, context: contextOf(trace, tracing) }
}

function contextOf(trace: Trace, tracing: SpanIds | undefined): TraceContext | undefined {
  const { trace_id: traceId, traceparent, tracestate: state } = trace
  if (traceId === undefined) return undefined
  const given = traceparent === undefined ? 0 : flagsOf(traceparent)
  const flags = `0${trace.trace_flags ?? given}`
  if (tracing !== undefined) return { traceId, flags, state, spanId: () => tracing.spanId() }
  const spanId = hash('sha256', trace.request_id).slice(0, 16)
  return { traceId, flags, state, spanId: () => spanId }
}

/** The defined flags: sampled, and random. */
export function flagsOf(traceparent: string): number {
  return Number.parseInt(traceparent.slice(53, 55), 16) & 3
}

/** The facts about an upstream that ids depend on. */
interface Addressee {
  readonly provider: { readonly hosted: boolean }
  readonly section: { readonly endpoint?: string | undefined }
}

/** The ids that one attempt carries. A hosted API does not get the trace context of the client. */
export function idsFor(
  ids: Continued,
  { provider, section }: Addressee,
  attempt: Pick<AttemptTrace, 'span_id'>,
): Continued {
  const { context } = ids
  if (context === undefined) return ids
  const span = context.spanId()
  attempt.span_id = span
  if (provider.hosted && section.endpoint === undefined) return ids
  const { traceId, flags, state } = context
  const headers = [...ids.headers, 'traceparent', `00-${traceId}-${span}-${flags}`]
  if (state !== undefined) headers.push('tracestate', state)
  return { ...ids, headers }
}

function isTraceparent(text: string): boolean {
  return TRACEPARENT.test(text) && (text.length === TRACEPARENT_LENGTH || !text.startsWith('00'))
}

function isTracestate(text: string): boolean {
  if (text.length === 0 || text.length > STATE_LENGTH_MAX) return false
  // An empty member is allowed, because many programs join lists carelessly.
  const members = text.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
  const given = members.filter((member) => member !== '')
  if (given.length === 0 || members.length > STATE_MEMBERS_MAX) return false
  return given.every((member) => STATE_MEMBER.test(member))
}
