/** Lines on standard output, as JSON or as text. */
import { LineSink } from './lines/line-sink.ts'
import { logFormatOf } from './lines/log-format.ts'
import { eventText, requestText } from './lines/text-lines.ts'
import type { Trace } from './traces.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Log {
  /** `event` names what happened: breaker, health, config_reload, budget_alert, start, drain. */
  event(level: 'info' | 'warn' | 'error', event: string, message: string, fields?: Fields): void
  request(trace: Trace): void
  flush(): void
}

export interface LogOptions {
  readonly write: (line: string) => void
  readonly flush: () => void
  readonly wallClock: () => number
  /** JSON if absent. */
  readonly format?: 'text' | 'json'
}

export function createLog(options: LogOptions): Log {
  const time = () => new Date(options.wallClock()).toISOString()
  if (options.format === 'text') {
    return {
      event: (level, event, message, fields) =>
        options.write(eventText(time(), level, { event, message, ...(fields && { fields }) })),
      request: (trace) => options.write(requestText(trace)),
      flush: options.flush,
    }
  }
  return {
    event(level, event, message, fields) {
      options.write(`${JSON.stringify({ time: time(), level, event, message, ...fields })}\n`)
    },
    request: (trace) => options.write(accessLine(trace)),
    flush: options.flush,
  }
}

/** `format`: the value of GW_LOG_FORMAT. */
export function standardOutput(
  onDrop: () => void,
  format: string | undefined,
): Pick<LogOptions, 'write' | 'flush' | 'format'> {
  const sink = new LineSink(1, onDrop)
  return {
    write: (line) => sink.write(line),
    flush: () => sink.flush(),
    format: logFormatOf(format, process.stdout.isTTY === true),
  }
}

/** An upstream may send an error message of any length. */
const REASON_LENGTH_MAX = 300

/** Members that are undefined are not written. */
function accessLine(trace: Trace): string {
  const { status, attempts } = trace
  // Clients do not get the text of an upstream's failure, so the log has it.
  const isUpstreams = status >= 499 && attempts.length > 0
  const hasTraceId = trace.trace_id !== undefined
  const line = {
    time: trace.time,
    level: status >= 500 ? 'error' : 'info',
    event: 'request',
    request_id: trace.request_id,
    method: trace.method,
    path: trace.path,
    tenant: trace.tenant,
    key: trace.key,
    model: trace.model,
    route: trace.route,
    upstream: trace.upstream,
    status,
    code: trace.code,
    stream: trace.stream,
    attempts: attempts.length,
    duration_ms: tenths(trace.duration_ms),
    ttft_ms: trace.ttft_ms === undefined ? undefined : tenths(trace.ttft_ms),
    prompt_tokens: trace.prompt_tokens,
    completion_tokens:
      trace.prompt_tokens === undefined ? undefined : (trace.completion_tokens ?? 0),
    usage_estimated: trace.usage_estimated === true ? true : undefined,
    reason: isUpstreams ? trace.message?.slice(0, REASON_LENGTH_MAX) : undefined,
    client_request_id: trace.client_request_id,
    session_id: trace.session_id,
    trace_id: trace.trace_id,
    traceparent: hasTraceId ? trace.traceparent : undefined,
    tracestate: hasTraceId ? trace.tracestate : undefined,
    upstream_request_id: attempts.at(-1)?.upstream_request_id,
    upstream_limits: attempts.at(-1)?.upstream_limits,
    dropped: attempts.at(-1)?.dropped,
    left_out: attempts.at(-1)?.left_out,
  }
  return `${JSON.stringify(line)}\n`
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}
