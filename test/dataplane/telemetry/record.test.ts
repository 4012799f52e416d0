/** The end of a request reaches metrics, traces and log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { record } from '../../../dataplane/request/record.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { assemble } from '../assembled-gateway.ts'

function aTrace(fields: Partial<Trace> = {}): Trace {
  const trace = newTrace('r-1', '2026-11-21T12:00:00.000Z', 'POST', '/v1/chat/completions')
  return Object.assign(trace, { status: 200, route: 'chat', duration_ms: 250, ...fields })
}

const attempt = {
  upstream: 'up',
  started_ms: 120,
  ended_ms: 200,
  outcome: 'ok',
  status: undefined,
  reason: undefined,
  upstream_request_id: undefined,
  upstream_limits: undefined,
  dropped: undefined,
  left_out: undefined,
  span_id: undefined,
  answer: undefined,
  usage: undefined,
}

test('a request is counted by route, upstream and status, timed by operation, kept as a trace and written as a line', () => {
  const { gateway, lines } = assemble()
  const trace = aTrace({ upstream: 'up', operation: 'chat' })
  record({ trace, left: false, isLogged: true }, gateway)
  assert.equal(gateway.metrics.requests.at('chat', 'up', '200').value, 1)
  assert.equal(gateway.metrics.duration.at('chat', 'up', 'chat').sum, 0.25)
  assert.equal(gateway.traces.get('r-1'), trace)
  assert.deepEqual([lines.length, lines[0]?.request_id], [1, 'r-1'])
})

test('without the access log there is no line', () => {
  const { gateway, lines } = assemble()
  record({ trace: aTrace(), left: false, isLogged: false }, gateway)
  assert.deepEqual(lines, [])
})

test('the overhead is the time to the first attempt less the wait for the body', () => {
  const { gateway } = assemble()
  record(
    { trace: aTrace({ body_ms: 100, attempts: [attempt] }), left: false, isLogged: false },
    gateway,
  )
  assert.equal(gateway.metrics.overhead.at().sum, 0.02)
})

test('a stream that was cut after its first content is counted by who cut it', () => {
  const { gateway } = assemble()
  const cut = { status: 499, stream: true, ttft_ms: 40, attempts: [attempt] }
  for (const left of [true, false, false])
    record({ trace: aTrace(cut), left, isLogged: false }, gateway)
  record({ trace: aTrace({ status: 499 }), left: true, isLogged: false }, gateway)
  assert.equal(gateway.metrics.streamAborted.at('client').value, 1)
  assert.equal(gateway.metrics.streamAborted.at('upstream').value, 2)
  assert.equal(gateway.metrics.firstToken.at('chat', 'none').sum, 0.12)
})

test('requests that failed at the gateway or an upstream miss the objective of errors', () => {
  const { gateway } = assemble()
  const ended = (fields: Partial<Trace>, left = false) =>
    record({ trace: aTrace(fields), left, isLogged: false }, gateway)
  const attempts = [attempt]
  const counted = () =>
    ['true', 'false'].map((good) => gateway.metrics.sloRequests.at('chat', 'errors', good).value)
  ended({ status: 200, attempts })
  ended({ status: 400, attempts })
  assert.deepEqual(counted(), [2, 0])
  ended({ status: 502, attempts })
  ended({ status: 503 })
  ended({ status: 499, attempts, ttft_ms: 4 })
  assert.deepEqual(counted(), [2, 3])
  ended({ status: 429 })
  ended({ status: 499, attempts, ttft_ms: 4 }, true)
  ended({ status: 401, route: 'none' })
  assert.deepEqual(counted(), [2, 3])
  assert.equal(gateway.metrics.sloRequests.size, 1)
})
