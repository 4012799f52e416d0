/**
 * A decision as spans: one SERVER span for the request, one CLIENT span for each attempt. Only CLIENT spans have tokens
 * and cost, so that the sum over spans equals the charge. No span holds content or a credential.
 */
import { asciiOf, maskKeys } from '../../base/shown-text.ts'
import type { Incoming } from '../../call/call.ts'
import type { Snapshot, UpstreamSettings } from '../../config/snapshot.ts'
import { rowOf } from '../../json/values.ts'
import type { AttemptTrace, Trace } from '../trace/fields.ts'
import { attributesIn, writeFields } from './fields.ts'
import { NAMES, OPERATIONS } from './names.ts'
import { attributesOf, type Parameters } from './parameters.ts'
import type { AttributeValue, Key, Writer } from './writer.ts'

/** Fields of `Span`, `Event` and `Status` as opentelemetry/proto/trace/v1 numbers them. */
const SPAN = 2
const TRACE_ID = 1
const SPAN_ID = 2
const TRACE_STATE = 3
const PARENT_ID = 4
const NAME = 5
const KIND = 6
const START = 7
const END = 8
const ATTRIBUTES = 9
const EVENTS = 11
const STATUS = 15
const FLAGS = 16
const EVENT_TIME = 1
const EVENT_NAME = 2
const EVENT_ATTRIBUTES = 3
const STATUS_CODE = 3

const SERVER = 2
const CLIENT = 3
const ERROR = 2
/** Whether it is known that the parent is in another process, and whether it is. */
const REMOTE_KNOWN = 0x100
const REMOTE = 0x200

const FIELDS = attributesIn('span')

/** Guardrails may judge a long stream a hundred times. */
const EVENTS_MAX = 16
const ATTEMPTS_MAX = 32
const CHOICES_MAX = 128
const AGENT_LENGTH_MAX = 256
const NAME_LENGTH_MAX = 128
const REASON_LENGTH_MAX = 32
const METHODS = /^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH)$/

/** The facts about the sender that spans contain. */
export interface Client {
  readonly incoming: Pick<Incoming, 'header' | 'httpVersion'>
  /** The peer of the connection. */
  readonly peerAddress: string | undefined
  /** undefined if the request was not for a model. */
  readonly parameters?: Parameters | undefined
}

/** The decision on an ended request. */
export interface Decision {
  readonly trace: Trace
  /** The configuration that decided it. */
  readonly snapshot: Pick<Snapshot, 'upstreams' | 'models'>
  readonly client: Client
  /** Why an unsampled trace is kept. */
  readonly kept: 'error' | 'slow' | undefined
}

/** Returns how many spans were written. */
export function writeSpans(out: Writer, decision: Decision): number {
  const { trace } = decision
  const startedAt = Date.parse(trace.time)
  writeServer(out, decision, startedAt)
  const attempts = trace.attempts.slice(0, ATTEMPTS_MAX)
  for (const [index, attempt] of attempts.entries()) {
    const upstream = decision.snapshot.upstreams.get(attempt.upstream)
    const { parameters } = decision.client
    writeClient(out, { trace, attempt, upstream, index, parameters }, startedAt)
  }
  return 1 + attempts.length
}

function writeServer(out: Writer, decision: Decision, startedAt: number): void {
  const { trace, snapshot, client, kept } = decision
  const span = out.open(SPAN)
  out.hex(TRACE_ID, trace.trace_id ?? '')
  out.hex(SPAN_ID, trace.span_id ?? '')
  if (trace.tracestate !== undefined) out.text(TRACE_STATE, trace.tracestate)
  const parent = trace.traceparent?.slice(36, 52)
  if (parent !== undefined) out.hex(PARENT_ID, parent)
  const path = pathOf(trace)
  const method = METHODS.test(trace.method) ? trace.method : '_OTHER'
  const isModelCall = trace.operation !== 'none'
  out.text(NAME, isModelCall ? `${method} ${path}` : method)
  out.varint(KIND, SERVER)
  out.time(START, startedAt)
  out.time(END, startedAt + trace.duration_ms)
  const error = serverError(trace)
  const add = (key: Key, value: AttributeValue | undefined) => out.attribute(ATTRIBUTES, key, value)
  add(NAMES.method, method)
  if (isModelCall) add(NAMES.route, path)
  add(NAMES.path, path)
  add(NAMES.client, addressOf(client.peerAddress))
  add(NAMES.agent, agentOf(client))
  add(NAMES.protocol, client.incoming.httpVersion)
  add(NAMES.errorType, error)
  writeFields(out, trace, FIELDS, ATTRIBUTES)
  // A name that the configuration does not have is the client's text.
  if (trace.model !== undefined && snapshot.models.get(trace.model) !== undefined)
    add(NAMES.model, trace.model)
  add(NAMES.attempts, trace.attempts.length)
  const first = trace.attempts[0]
  if (first !== undefined) add(NAMES.overhead, { decimal: first.started_ms - trace.body_ms })
  add(NAMES.sampled, kept)
  writeStages(out, trace, startedAt)
  if (error !== undefined) writeError(out)
  out.fixed32(FLAGS, (trace.trace_flags ?? 0) | REMOTE_KNOWN | (parent === undefined ? 0 : REMOTE))
  out.close(span)
}

/** The stages of the request, in their order. */
function writeStages(out: Writer, trace: Trace, startedAt: number): void {
  const first = trace.attempts[0]
  if (trace.body_ms > 0) writeEvent(out, 'gw.received', startedAt + trace.body_ms)
  const attemptedAt = startedAt + (first?.started_ms ?? trace.duration_ms)
  for (const { name, side, verdict, ms } of trace.guardrails?.slice(0, EVENTS_MAX) ?? []) {
    writeEvent(
      out,
      'gw.guardrail',
      side === 'input' ? attemptedAt : startedAt + trace.duration_ms,
      [
        [NAMES.guardrail, name],
        [NAMES.side, side],
        [NAMES.verdict, verdict],
        [NAMES.duration, { decimal: ms }],
      ],
    )
  }
  if (first !== undefined) writeEvent(out, 'gw.admitted', attemptedAt)
  for (const { upstream, why } of trace.passed_over?.slice(0, EVENTS_MAX) ?? [])
    writeEvent(out, 'gw.passed_over', attemptedAt, [
      [NAMES.upstream, upstream],
      [NAMES.why, why],
    ])
  if (trace.ttft_ms !== undefined) writeEvent(out, 'gw.first_content', startedAt + trace.ttft_ms)
}

type Attributes = readonly (readonly [Key, AttributeValue])[]

function writeEvent(out: Writer, name: string, wallMs: number, attributes: Attributes = []): void {
  const event = out.open(EVENTS)
  out.time(EVENT_TIME, wallMs)
  out.text(EVENT_NAME, name)
  for (const [key, value] of attributes) out.attribute(EVENT_ATTRIBUTES, key, value)
  out.close(event)
}

interface ClientSpan {
  readonly trace: Trace
  readonly attempt: AttemptTrace
  /** undefined if the configuration no longer has it. */
  readonly upstream: UpstreamSettings | undefined
  readonly index: number
  readonly parameters: Parameters | undefined
}

function writeClient(out: Writer, client: ClientSpan, startedAt: number): void {
  const { trace, attempt, upstream } = client
  const span = out.open(SPAN)
  out.hex(TRACE_ID, trace.trace_id ?? '')
  out.hex(SPAN_ID, attempt.span_id ?? '')
  if (trace.tracestate !== undefined) out.text(TRACE_STATE, trace.tracestate)
  out.hex(PARENT_ID, trace.span_id ?? '')
  const operation = rowOf(OPERATIONS, trace.operation) ?? trace.operation
  const model = attempt.model ?? upstream?.model
  out.text(NAME, model === undefined ? operation : `${operation} ${model}`)
  out.varint(KIND, CLIENT)
  out.time(START, startedAt + attempt.started_ms)
  // A committed attempt lasts as long as its answer.
  const isOver = attempt.outcome !== 'ok' && attempt.outcome !== 'running'
  out.time(END, startedAt + (isOver ? attempt.ended_ms : trace.duration_ms))
  const error = clientError(client)
  const add = (key: Key, value: AttributeValue | undefined) => out.attribute(ATTRIBUTES, key, value)
  add(NAMES.operation, operation)
  add(NAMES.provider, upstream?.provider.genAiName ?? upstream?.provider.name)
  add(NAMES.requestModel, model)
  if (trace.stream === true) add(NAMES.requestStream, true)
  add(NAMES.choices, trace.choices)
  add(NAMES.maxTokens, trace.max_tokens)
  if (client.parameters !== undefined)
    for (const [key, value] of attributesOf(client.parameters)) add(key, value)
  if (upstream !== undefined) {
    add(NAMES.serverAddress, upstream.server.address)
    add(NAMES.serverPort, upstream.server.port)
  }
  add(NAMES.upstream, attempt.upstream)
  add(NAMES.attempt, client.index + 1)
  add(NAMES.outcome, attempt.outcome)
  add(NAMES.status, attempt.outcome === 'ok' ? 200 : attempt.status)
  const repeats = trace.attempts.slice(0, client.index).filter(isAt(attempt.upstream)).length
  if (repeats > 0) add(NAMES.resends, repeats)
  add(NAMES.errorType, error)
  if (trace.stream === true && attempt.outcome === 'ok')
    add(NAMES.firstChunk, { decimal: (attempt.ended_ms - attempt.started_ms) / 1000 })
  writeAnswer(out, client, error)
  writeUsage(out, attempt)
  if (error !== undefined) writeError(out)
  out.fixed32(FLAGS, (trace.trace_flags ?? 0) | REMOTE_KNOWN)
  out.close(span)
}

function isAt(name: string): (attempt: AttemptTrace) => boolean {
  return ({ upstream }) => upstream === name
}

function writeAnswer(out: Writer, { trace, attempt }: ClientSpan, error: string | undefined): void {
  const { id, model, finish_reasons: reasons = [] } = attempt.answer ?? {}
  const add = (key: Key, value: AttributeValue | undefined) => out.attribute(ATTRIBUTES, key, value)
  if (attempt.outcome !== 'ok') return
  if (model !== undefined) add(NAMES.responseModel, labelOf(model, NAME_LENGTH_MAX))
  if (id !== undefined) add(NAMES.responseId, labelOf(id, NAME_LENGTH_MAX))
  const cut = error === undefined ? 0 : Math.min(trace.choices ?? 1, CHOICES_MAX)
  // A choice without an end.
  const shown = Array.from({ length: Math.max(reasons.length, cut) }, (_, choice) =>
    labelOf(reasons[choice] ?? 'error', REASON_LENGTH_MAX),
  )
  if (shown.length > 0) add(NAMES.finishReasons, shown)
}

function writeUsage(out: Writer, { usage }: AttemptTrace): void {
  if (usage === undefined) return
  const add = (key: Key, value: AttributeValue | undefined) => out.attribute(ATTRIBUTES, key, value)
  add(NAMES.inputTokens, usage.input_tokens)
  add(NAMES.outputTokens, usage.output_tokens)
  if (usage.cached_tokens > 0) add(NAMES.cacheRead, usage.cached_tokens)
  if (usage.cache_write_tokens > 0) {
    add(NAMES.cacheWrite, usage.cache_write_tokens)
    add(NAMES.cacheCreation, usage.cache_write_tokens)
  }
  if (usage.reasoning_tokens > 0) add(NAMES.reasoning, usage.reasoning_tokens)
  if (usage.estimated) add(NAMES.estimated, true)
  const cost = { decimal: usage.cost_nano_usd / 1e9 }
  add(NAMES.cost, cost)
  add(NAMES.gatewayCost, cost)
}

function writeError(out: Writer): void {
  const status = out.open(STATUS)
  out.varint(STATUS_CODE, ERROR)
  out.close(status)
}

/** A refusal that the client caused is not a server error; a cut stream is. */
function serverError({ status, code }: Trace): string | undefined {
  if (status >= 500 || code === CUT) return code ?? String(status)
  return undefined
}

const CUT = 'ERR_GW_STREAM_ABORTED'

/** Outcomes that the upstream did not cause: the client left, or a guardrail refused the answer. */
const UNBLAMED: ReadonlySet<string> = new Set(['left', 'refused', 'running'])

function clientError({ trace, attempt, index }: ClientSpan): string | undefined {
  const { outcome, status } = attempt
  if (outcome === 'ok') {
    const isLast = index === trace.attempts.length - 1
    return isLast && trace.code === CUT ? CUT : undefined
  }
  if (status !== undefined) return String(status)
  return UNBLAMED.has(outcome) ? undefined : outcome
}

/** This prefix precedes an IPv4 address if the listener uses IPv6, too. */
function addressOf(peer: string | undefined): string | undefined {
  return peer?.startsWith('::ffff:') ? peer.slice('::ffff:'.length) : peer
}

function agentOf({ incoming }: Client): string | undefined {
  const agent = incoming.header('user-agent')
  return agent ? labelOf(agent, AGENT_LENGTH_MAX) : undefined
}

/** A text of a client or an upstream, which may contain anything. */
function labelOf(text: string, lengthMax: number): string {
  return asciiOf(maskKeys(text.slice(0, lengthMax)))
}

/** Queries are left out, because clients put secrets into them. */
function pathOf({ path }: Trace): string {
  const end = path.indexOf('?')
  return end === -1 ? path : path.slice(0, end)
}
