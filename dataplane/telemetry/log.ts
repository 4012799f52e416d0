/** Lines on standard output. Those of JSON are built by hand: a line costs a tenth of what a logging library takes. */
import { LineSink } from './line-sink.ts'
import { logFormatOf } from './log-format.ts'
import { eventText, requestText } from './text-lines.ts'
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

/** `format` is what GW_LOG_FORMAT says. */
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

/** An upstream's own words may be as long as it likes. */
const REASON_LENGTH_MAX = 300

/** Only client text (path, model) needs escaping; names and numbers come from the configuration and the clock. */
function accessLine(trace: Trace): string {
  const { status } = trace
  let line = `{"time":"${trace.time}","level":"${status >= 500 ? 'error' : 'info'}","event":"request"`
  line += `,"request_id":"${trace.request_id}","method":"${trace.method}","path":${JSON.stringify(trace.path)}`
  if (trace.tenant !== undefined) line += `,"tenant":"${trace.tenant}","key":"${trace.key}"`
  if (trace.model !== undefined) line += `,"model":${JSON.stringify(trace.model)}`
  line += `,"route":"${trace.route}","upstream":"${trace.upstream}","status":${status}`
  if (trace.code !== undefined) line += `,"code":"${trace.code}"`
  if (trace.stream !== undefined) line += `,"stream":${trace.stream}`
  line += `,"attempts":${trace.attempts.length},"duration_ms":${trace.duration_ms.toFixed(1)}`
  if (trace.ttft_ms !== undefined) line += `,"ttft_ms":${trace.ttft_ms.toFixed(1)}`
  if (trace.prompt_tokens !== undefined) {
    line += `,"prompt_tokens":${trace.prompt_tokens},"completion_tokens":${trace.completion_tokens ?? 0}`
  }
  if (trace.usage_estimated) line += `,"usage_estimated":true`
  // What clients do not read of an upstream's failure.
  if (trace.message !== undefined && status >= 499 && trace.attempts.length > 0)
    line += `,"reason":${JSON.stringify(trace.message.slice(0, REASON_LENGTH_MAX))}`
  if (trace.client_request_id !== undefined)
    line += `,"client_request_id":${JSON.stringify(trace.client_request_id)}`
  if (trace.trace_id !== undefined) {
    line += `,"trace_id":"${trace.trace_id}","traceparent":"${trace.traceparent}"`
    if (trace.tracestate !== undefined) line += `,"tracestate":${JSON.stringify(trace.tracestate)}`
  }
  const upstreamsOwn = trace.attempts.at(-1)?.upstream_request_id
  if (upstreamsOwn !== undefined) line += `,"upstream_request_id":${JSON.stringify(upstreamsOwn)}`
  return `${line}}\n`
}
