/** The operator's spans for OpenTelemetry: a reconcile, and as its children the pushes of documents to pods. */
import {
  type AttributeValue,
  type Key,
  keyOf,
  type Writer,
} from '../../dataplane/telemetry/tracing/writer.ts'

/** Fields of `Span` and `Status` as opentelemetry/proto/trace/v1 numbers them. */
const SPAN = 2
const [TRACE_ID, SPAN_ID, PARENT_ID, NAME, KIND, START, END] = [1, 2, 4, 5, 6, 7, 8]
const [ATTRIBUTES, STATUS, FLAGS] = [9, 15, 16]
const [STATUS_MESSAGE, STATUS_CODE] = [2, 3]
const ERROR = 2
/** Sampled, with a random id; it is known whether the parent is in another process. */
const OWN = 0x103

export const KINDS = { internal: 1, client: 3 } as const

export interface OperatorSpan {
  readonly traceId: string
  readonly spanId: string
  /** undefined for the root of the trace. */
  readonly parentId: string | undefined
  readonly name: string
  readonly kind: keyof typeof KINDS
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>
  /** undefined if it succeeded. */
  readonly error: string | undefined
}

/** Returns the number of spans written. */
export function writeSpan(out: Writer, span: OperatorSpan): number {
  const { traceId, spanId, parentId, error } = span
  const whole = out.open(SPAN)
  out.hex(TRACE_ID, traceId)
  out.hex(SPAN_ID, spanId)
  if (parentId !== undefined) out.hex(PARENT_ID, parentId)
  out.text(NAME, span.name)
  out.varint(KIND, KINDS[span.kind])
  out.time(START, span.startedAt)
  out.time(END, span.endedAt)
  for (const [name, value] of Object.entries(span.attributes))
    out.attribute(ATTRIBUTES, keyFor(name), value)
  if (error !== undefined) {
    const status = out.open(STATUS)
    out.text(STATUS_MESSAGE, error)
    out.varint(STATUS_CODE, ERROR)
    out.close(status)
  }
  out.fixed32(FLAGS, OWN)
  out.close(whole)
  return 1
}

/** Names of attributes come from the code. */
const keys = new Map<string, Key>()

function keyFor(name: string): Key {
  const key = keys.get(name) ?? keyOf(name)
  keys.set(name, key)
  return key
}
