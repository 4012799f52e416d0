/** Spans of the operator: where they are sent, and that many changes stay within their bound. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tracingSettings } from '../../operator/tracing/settings.ts'
import type { OperatorSpan } from '../../operator/tracing/spans.ts'
import { Tracer } from '../../operator/tracing/tracer.ts'

const ENDPOINT = 'http://collector:4318'

test('without an option or a variable there is no collector', () => {
  assert.equal(tracingSettings(undefined, {}), undefined)
  assert.equal(tracingSettings('', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }), undefined)
})

test("the option overrides the variable, and headers use OpenTelemetry's format", () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20t%3D1, x-team = blue',
  }
  assert.deepEqual(tracingSettings(ENDPOINT, env), {
    endpoint: ENDPOINT,
    headers: { authorization: 'Bearer t=1', 'x-team': 'blue' },
  })
  assert.equal(tracingSettings(undefined, env)?.endpoint, 'http://other:4318')
})

for (const [option, headers, says] of [
  ['collector:4318', undefined, /must be a URL/],
  ['http://collector:4318?key=x', undefined, /must be only a base URL/],
  ['http://me:secret@collector', undefined, /must be only a base URL/],
  [ENDPOINT, 'no-equals', /must be name=value/],
  [ENDPOINT, 'a b=c', /must be name=value/],
  [ENDPOINT, 'a=%0A', /must be name=value/],
] as const) {
  test(`${option} with the headers ${headers} is refused, and no value is shown`, () => {
    const env = { OTEL_EXPORTER_OTLP_HEADERS: headers }
    assert.throws(
      () => tracingSettings(option, env),
      (error: Error) => says.test(error.message) && !error.message.includes('secret'),
    )
  })
}

function aTracer() {
  const spans: OperatorSpan[] = []
  let now = 1_000_000
  const tracer = new Tracer(
    (span) => spans.push(span),
    () => now,
  )
  return { tracer, spans, pass: (ms: number) => (now += ms) }
}

test('a failing reconcile is recorded as an error of its kind, without its message, and is rethrown', async () => {
  const { tracer, spans } = aTracer()
  const failing = tracer.reconcile('ai/production', async () => {
    throw new TypeError('a secret word')
  })
  await assert.rejects(failing, /a secret word/)
  assert.equal(spans[0]?.error, 'TypeError')
  assert.ok(!JSON.stringify(spans).includes('secret'))
})

test('a second has at most a hundred spans, and all work is still done', async () => {
  const { tracer, spans, pass } = aTracer()
  let done = 0
  const reconcile = () => tracer.reconcile('ai/production', async () => void done++)
  for (let storm = 0; storm < 1000; storm++) await reconcile()
  assert.deepEqual([done, spans.length], [1000, 100])
  pass(1000)
  await reconcile()
  assert.equal(spans.length, 101)
})

test('pushes of a reconcile that was not recorded are not recorded either', () => {
  const { tracer, spans } = aTracer()
  const push = {
    document: 'keys',
    gateway: 'ai/production',
    pod: 'p',
    origin: 'http://10.0.0.1:9092',
  }
  tracer.push({ ...push, context: undefined, result: 'acknowledged', seconds: 0.1 })
  assert.deepEqual(spans, [])
})
