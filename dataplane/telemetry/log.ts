/** Lines on standard output, as JSON or as text. */
import { LineSink } from './lines/line-sink.ts'
import { logFormatOf } from './lines/log-format.ts'
import { eventText, requestText } from './lines/text-lines.ts'
import { accessLine } from './trace/code.ts'
import type { Trace } from './trace/fields.ts'

type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  /** `event` names the event: breaker, health, config_reload, budget_alert, start, drain. */
  event(level: 'info' | 'warn' | 'error', event: string, message: string, fields?: LogFields): void
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
