/** JSON lines on standard output, built by hand: a line costs a tenth of what a logging library takes. */
import sonicBoom from 'sonic-boom'
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
}

export function createLog(options: LogOptions): Log {
  const time = () => new Date(options.wallClock()).toISOString()
  return {
    event(level, event, message, fields) {
      options.write(`${JSON.stringify({ time: time(), level, event, message, ...fields })}\n`)
    },
    request: (trace) => options.write(accessLine(trace)),
    flush: options.flush,
  }
}

/** A sink that writes in the background, keeps at most 8 MiB and drops what comes beyond that. */
export function standardOutput(onDrop: () => void): Pick<LogOptions, 'write' | 'flush'> {
  const sink = new sonicBoom.SonicBoom({
    fd: 1,
    minLength: 65_536,
    maxWrite: 131_072,
    maxLength: 8_388_608,
    sync: false,
    periodicFlush: 100,
  })
  sink.on('drop', onDrop)
  // A closed pipe must not end the gateway: nobody reads the lines any more, that is all.
  sink.on('error', onDrop)
  return { write: (line) => void sink.write(line), flush: () => sink.flushSync() }
}

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
  return `${line}}\n`
}
