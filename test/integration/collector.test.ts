/**
 * A real OpenTelemetry collector stores a gateway's traces, metrics and log records, in every OTLP
 * format.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { failing, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { type StoredPoint, startCollector } from '../helpers/telemetry/collector.ts'
import { until } from '../helpers/until.ts'
import { startObserved, WIRE_FORMS } from './observed-gateway.ts'

const [first, second, collector] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startCollector(),
])
after(async () => {
  await Promise.all([first.close(), second.close(), collector.stop()])
})

const TRACE_IDS = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(32))
const PARENT_ID = '00f067aa0ba902b7'
const SIGNALS = ['traces', 'metrics', 'logs']

async function start(telemetry: Readonly<Record<string, unknown>>) {
  return await startObserved({
    first,
    second,
    section: { usage: { sinks: { otlp: {} } } },
    telemetry: {
      otlp_endpoint: collector.url,
      otlp_signals: SIGNALS,
      otlp_metrics_seconds: 1,
      sample_ratio: 0,
      ...telemetry,
    },
  })
}

const CUMULATIVE = 2

const isOf = (name: string, index: number) => (point: StoredPoint) =>
  point.name === name && point.resource['service.name'] === `gw-${index}`

for (const [index, form] of WIRE_FORMS.entries()) {
  const traceId = TRACE_IDS[index] ?? ''
  const name = `${form.otlp_protocol}, ${form.otlp_compression}`
  test(`${name}: the collector stores the trace of a request with a retry and a fallback, with its records and metrics`, async () => {
    const front = await start({ ...form, service_name: `gw-${index}` })
    first.script.push(failing(503), failing(503))
    second.script.push(streaming())
    const traceparent = `00-${traceId}-${PARENT_ID}-01`
    const heard = await front.ask({ stream: true }, { traceparent }).over
    assert.equal(heard.status, 200, heard.text)
    const requestId = String(heard.headers['x-request-id'])
    // The end of the process sends waiting data and the last metrics.
    await front.process.stop()
    await until('all is stored', async () => {
      const [spans, records, points] = await Promise.all([
        collector.spans(),
        collector.records(),
        collector.points(),
      ])
      return (
        spans.some((span) => span.traceId === traceId) &&
        records.filter((record) => record.traceId === traceId).length === 2 &&
        points.some(isOf('gw_cost_usd_total', index))
      )
    })
    const spans = (await collector.spans()).filter((span) => span.traceId === traceId)
    const [server] = spans
    assert.deepEqual(
      spans.map(({ name: called, kind, parentSpanId, status }) => [
        called,
        kind,
        parentSpanId,
        status.code ?? 0,
      ]),
      [
        ['POST /v1/chat/completions', 2, PARENT_ID, 0],
        ['chat one', 3, server?.spanId, 2],
        ['chat one', 3, server?.spanId, 2],
        ['chat two', 3, server?.spanId, 0],
      ],
    )
    assert.equal(server?.resource['service.name'], `gw-${index}`)
    assert.equal(spans[2]?.attributes['http.request.resend_count'], 1)
    assert.partialDeepStrictEqual(spans[3]?.attributes, {
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
      'gw.cost_usd': 0.000013,
    })
    const points = await collector.points()
    const cost = points.findLast(isOf('gw_cost_usd_total', index))
    assert.deepEqual(
      [cost?.kind, cost?.isMonotonic, cost?.aggregationTemporality, cost?.unit, cost?.asDouble],
      ['sum', true, CUMULATIVE, '{USD}', 0.000013],
    )
    const late = points.findLast(isOf('gw_time_to_first_token_seconds', index))
    assert.deepEqual([late?.kind, late?.count, late?.unit], ['histogram', '1', 's'])
    assert.equal(late?.bucketCounts.length, (late?.explicitBounds.length ?? 0) + 1)
    // From a bucket to the trace of its exemplar.
    assert.equal(late?.exemplars?.[0]?.traceId, traceId)
    assert.ok(points.some(isOf('process_resident_memory_bytes', index)))
    const records = (await collector.records()).filter((record) => record.traceId === traceId)
    const byBody = Object.fromEntries(records.map((record) => [record.body, record]))
    assert.equal(byBody['gw.usage']?.attributes['gw.cost_nano_usd'], 13_000)
    const line = byBody['POST /v1/chat/completions 200']
    assert.deepEqual(
      [line?.severityText, line?.spanId, line?.attributes['gw.request_id']],
      ['info', server?.spanId, requestId],
    )
  })
}
