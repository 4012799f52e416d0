/** The start of a trace, and its line in the log. `npm run generate` writes this file from fields.ts. */
import { TEXTS, type Trace } from './fields.ts'
import { LOGGED, other, tenths, text } from './logged.ts'

/** Every field is there, so that all traces have the same shape. */
export function newTrace(request_id: string, time: string, method: string, path: string): Trace {
  return {
    request_id,
    time,
    method,
    path,
    tenant: undefined,
    key: undefined,
    tags: undefined,
    operation: 'none',
    model: undefined,
    deprecated: undefined,
    route: 'none',
    strategy: undefined,
    upstream: 'none',
    status: 0,
    code: undefined,
    stream: undefined,
    choices: undefined,
    max_tokens: undefined,
    attempts: [],
    passed_over: undefined,
    waits: undefined,
    guardrails: undefined,
    semantic: undefined,
    retrieval: undefined,
    passages: undefined,
    context: undefined,
    duration_ms: 0,
    body_ms: 0,
    ttft_ms: undefined,
    counted_tokens: undefined,
    counted_exact: undefined,
    counted_by: undefined,
    prompt_tokens: undefined,
    completion_tokens: undefined,
    usage_estimated: undefined,
    cache_saved_nano_usd: undefined,
    message: undefined,
    client_request_id: undefined,
    session_id: undefined,
    trace_id: undefined,
    traceparent: undefined,
    tracestate: undefined,
    span_id: undefined,
    trace_flags: undefined,
    [TEXTS]: undefined,
  }
}

/** Members that are undefined are not written. */
export function accessLine(trace: Trace): string {
  const last = trace.attempts.at(-1)
  return (
    `{"time":"${trace.time}","level":"${trace.status >= 500 ? 'error' : 'info'}","event":"request"` +
    text(',"request_id":"', trace.request_id) +
    text(',"method":"', trace.method) +
    text(',"path":"', trace.path) +
    text(',"tenant":"', trace.tenant) +
    text(',"key":"', trace.key) +
    text(',"model":"', trace.model) +
    text(',"deprecated":"', trace.deprecated) +
    text(',"route":"', trace.route) +
    text(',"upstream":"', trace.upstream) +
    other(',"status":', trace.status) +
    text(',"code":"', trace.code) +
    other(',"stream":', trace.stream) +
    other(',"attempts":', LOGGED.attempts(trace)) +
    other(',"duration_ms":', tenths(trace.duration_ms)) +
    other(',"ttft_ms":', tenths(trace.ttft_ms)) +
    other(',"prompt_tokens":', trace.prompt_tokens) +
    other(',"completion_tokens":', LOGGED.completion_tokens(trace)) +
    other(',"usage_estimated":', LOGGED.usage_estimated(trace)) +
    other(',"cache_saved_nano_usd":', trace.cache_saved_nano_usd) +
    text(',"reason":"', LOGGED.message(trace)) +
    text(',"client_request_id":"', trace.client_request_id) +
    text(',"session_id":"', trace.session_id) +
    text(',"trace_id":"', trace.trace_id) +
    text(',"traceparent":"', trace.traceparent) +
    text(',"tracestate":"', trace.tracestate) +
    text(',"upstream_request_id":"', last?.upstream_request_id) +
    other(',"upstream_limits":', last?.upstream_limits) +
    other(',"dropped":', last?.dropped) +
    other(',"left_out":', last?.left_out) +
    other(',"parameters":', last?.parameters) +
    '}\n'
  )
}
