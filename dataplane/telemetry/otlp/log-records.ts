/** Lines of the log as log records of OpenTelemetry: severity, text, and the facts about a request. */

import type { Trace } from '../trace/fields.ts'
import { attributesIn, writeFields } from '../tracing/fields.ts'
import { NAMES } from '../tracing/names.ts'
import { type AttributeValue, type Key, keyOf, type Writer } from '../tracing/writer.ts'
import type { LogEntry } from './log-tap.ts'

/** Fields of `LogRecord` as opentelemetry/proto/logs/v1 numbers them. */
const RECORD = 2
const [TIME, SEVERITY, LEVEL, BODY, ATTRIBUTES] = [1, 2, 3, 5, 6]
const [FLAGS, TRACE_ID, SPAN_ID, EVENT_NAME] = [8, 9, 10, 12]
const BODY_STRING = 1

const SEVERITIES = { info: 9, warn: 13, error: 17 } as const
const FIELDS = attributesIn('record')
const FIELDS_MAX = 32
const NAME_MAX = 64
const TRACE_HEX = /^[0-9a-f]{32}$/

/** Returns how many records it has written. */
export function writeLogRecord(out: Writer, entry: LogEntry): number {
  if (entry.kind === 'request') writeRequest(out, entry.trace)
  else writeEvent(out, entry)
  return 1
}

function writeHead(out: Writer, at: number, level: keyof typeof SEVERITIES, text: string): void {
  out.time(TIME, at)
  out.varint(SEVERITY, SEVERITIES[level])
  out.text(LEVEL, level)
  const body = out.open(BODY)
  out.text(BODY_STRING, text)
  out.close(body)
}

/** Writes the fields of the access log, except those that spans omit. */
function writeRequest(out: Writer, trace: Trace): void {
  const { method, path, status, trace_id, span_id, trace_flags } = trace
  const record = out.open(RECORD)
  const at = Date.parse(trace.time) + trace.duration_ms
  const [shown] = path.split('?')
  writeHead(out, at, status >= 500 ? 'error' : 'info', `${method} ${shown} ${status}`)
  const add = (key: Key, value: AttributeValue | undefined) => out.attribute(ATTRIBUTES, key, value)
  add(NAMES.method, method)
  add(NAMES.path, shown)
  writeFields(out, trace, FIELDS, ATTRIBUTES)
  add(NAMES.attempts, trace.attempts.length)
  if (trace_flags !== undefined) out.fixed32(FLAGS, trace_flags)
  if (trace_id !== undefined && TRACE_HEX.test(trace_id)) {
    out.hex(TRACE_ID, trace_id)
    if (span_id !== undefined) out.hex(SPAN_ID, span_id)
  }
  out.text(EVENT_NAME, 'gw.request')
  out.close(record)
}

function writeEvent(out: Writer, entry: Extract<LogEntry, { kind: 'event' }>): void {
  const { at, level, event, message, fields } = entry
  const record = out.open(RECORD)
  writeHead(out, at, level, message)
  for (const [name, value] of Object.entries(fields).slice(0, FIELDS_MAX))
    out.attribute(ATTRIBUTES, keyFor(name), attributeOf(value))
  out.text(EVENT_NAME, `gw.${event}`)
  out.close(record)
}

function attributeOf(value: unknown): AttributeValue | undefined {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return { decimal: value }
  return value === undefined || value === null ? undefined : JSON.stringify(value)
}

/** Names of fields come from the code that logs. */
const keys = new Map<string, Key>()

function keyFor(name: string): Key {
  const known = keys.get(name)
  if (known !== undefined) return known
  const key = keyOf(`gw.${name.slice(0, NAME_MAX)}`)
  if (keys.size < 200) keys.set(name, key)
  return key
}
