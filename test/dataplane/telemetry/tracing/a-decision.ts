/** A decision with one failed attempt and one that served, and a snapshot that knows its upstreams. */

import { newTrace } from '../../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace, Trace } from '../../../../dataplane/telemetry/trace/fields.ts'
import { AnswerFacts } from '../../../../dataplane/wire/answer-facts.ts'
import { aSnapshotOf } from '../../request/stages/snapshots.ts'

export const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
export const PARENT_ID = '00f067aa0ba902b7'
export const SPAN_ID = '1111111111111111'
export const USAGE = {
  input_tokens: 812,
  cached_tokens: 512,
  cache_write_tokens: 100,
  output_tokens: 233,
  reasoning_tokens: 33,
  estimated: false,
  cost_nano_usd: 91_000,
}

export const snapshot = aSnapshotOf({
  upstreams: [
    { name: 'local', provider: 'vllm', endpoint: 'http://[::1]:8000', model: 'llama' },
    {
      name: 'eu',
      provider: 'azure_openai',
      endpoint: 'https://x.openai.azure.com',
      model: 'gpt-4o-mini',
      api_key: '${env:SECRET}',
    },
  ],
  routes: [
    {
      name: 'chat',
      strategy: 'primary_with_fallback',
      primary: 'local',
      fallback: ['eu'],
      upstreams: [],
    },
  ],
})

export const client = {
  incoming: {
    header: (name: string) => (name === 'user-agent' ? 'OpenAI/Python 2.9.0' : undefined),
    httpVersion: '1.1',
  },
  peerAddress: '::ffff:10.0.0.7',
}

export function anAttempt(fields: Partial<AttemptTrace>): AttemptTrace {
  return {
    upstream: 'local',
    started_ms: 2,
    ended_ms: 10.5,
    outcome: 'ok',
    status: undefined,
    reason: undefined,
    upstream_request_id: undefined,
    upstream_limits: undefined,
    dropped: undefined,
    left_out: undefined,
    span_id: '2222222222222222',
    answer: undefined,
    usage: undefined,
    ...fields,
  }
}

/** The facts of an answer with these choices. */
export function answering(id: string, model: string, reasons: readonly string[]): AnswerFacts {
  const facts = new AnswerFacts()
  facts.begin(id, model)
  for (const [choice, reason] of reasons.entries()) facts.end(choice, reason)
  return facts
}

export function aTrace(fields: Partial<Trace> = {}): Trace {
  const trace = newTrace('r-1', '2026-11-21T12:00:00.250Z', 'POST', '/v1/chat/completions?key=hush')
  return Object.assign(trace, {
    trace_id: TRACE_ID,
    traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
    trace_flags: 1,
    span_id: SPAN_ID,
    tenant: 'acme',
    key: 'k1',
    operation: 'chat',
    model: 'chat',
    route: 'chat',
    strategy: 'primary_with_fallback',
    status: 200,
    stream: true,
    max_tokens: 100,
    ttft_ms: 20,
    duration_ms: 40,
    attempts: [
      anAttempt({ outcome: 'overloaded', status: 503 }),
      anAttempt({
        upstream: 'eu',
        started_ms: 12,
        ended_ms: 20,
        span_id: '3333333333333333',
        answer: answering('chatcmpl-7', 'gpt-4o-mini-2024', ['stop']),
        usage: USAGE,
      }),
    ],
    ...fields,
  })
}
