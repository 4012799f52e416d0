/** The line of a request in the log: by the generated code, by a loop over the declaration, or of an object. */
import { accessLine, newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import { namesIn } from '../../../dataplane/telemetry/trace/field.ts'
import { TRACE_FIELDS, type Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { LOGGED } from '../../../dataplane/telemetry/trace/logged.ts'
import { compare } from './runner.ts'

const members = namesIn('log', TRACE_FIELDS).map((name) => ({
  name,
  start: `,"${name}":`,
  shown: name in LOGGED ? LOGGED[name as keyof typeof LOGGED] : undefined,
}))

function loop(trace: Trace): string {
  let line = `{"time":"${trace.time}","level":"${trace.status >= 500 ? 'error' : 'info'}","event":"request"`
  for (const { name, start, shown } of members) {
    const value = shown === undefined ? trace[name] : shown(trace)
    if (value !== undefined)
      line += typeof value === 'number' ? start + value : start + JSON.stringify(value)
  }
  return `${line}}\n`
}

function object(trace: Trace): string {
  const line: Record<string, unknown> = { time: trace.time, level: 'info', event: 'request' }
  for (const { name, shown } of members)
    line[name] = shown === undefined ? trace[name] : shown(trace)
  return `${JSON.stringify(line)}\n`
}

const page = Buffer.allocUnsafe(65_536)

const lines = (lineOf: (trace: Trace) => string) => (times: number) => {
  for (let request = 0; request < times; request++) {
    const trace = newTrace(`r-${request}`, '2026-11-21T12:00:00.250Z', 'POST', '/v1/chat')
    Object.assign(trace, { tenant: 'acme', key: 'k1', model: 'chat', route: 'chat' })
    Object.assign(trace, { upstream: 'up', status: 200, stream: true, duration_ms: 12.345 })
    Object.assign(trace, { ttft_ms: 7.2, prompt_tokens: 812, completion_tokens: 233 })
    page.write(lineOf(trace))
  }
}

await compare(import.meta.url, 1_000_000, {
  generated: lines(accessLine),
  loop: lines(loop),
  object: lines(object),
})
