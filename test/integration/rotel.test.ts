/**
 * rotel, a second collector with a stricter reader, accepts the gateway's data in every OTLP
 * format.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { failing, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { startRotel } from '../helpers/telemetry/rotel.ts'
import { type ReadSpan, readBatch } from '../helpers/telemetry/spans.ts'
import { until } from '../helpers/until.ts'
import { startObserved, WIRE_FORMS } from './observed-gateway.ts'

/** Batches by path, as rotel has written them. */
const passedOn: { readonly path: string; readonly body: Buffer }[] = []
const receiver = createServer(async (incoming, outgoing) => {
  const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming))
  const isPacked = incoming.headers['content-encoding'] === 'gzip'
  passedOn.push({ path: incoming.url ?? '', body: isPacked ? gunzipSync(body) : body })
  outgoing.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const { port } = receiver.address() as AddressInfo
const [first, second, rotel] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startRotel(`http://127.0.0.1:${port}`),
])
after(async () => {
  await Promise.all([first.close(), second.close(), rotel.stop()])
  receiver.close()
  receiver.closeAllConnections()
})

const PARENT_ID = '00f067aa0ba902b7'
const spansOf = (traceId: string): ReadSpan[] =>
  passedOn
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) => readBatch(body).spans)
    .filter((span) => span.traceId === traceId)

for (const [index, form] of WIRE_FORMS.entries()) {
  const traceId = String(index + 1).repeat(32)
  const name = `${form.otlp_protocol}, ${form.otlp_compression}`
  test(`${name}: rotel accepts the whole trace of a request with a retry and a fallback, and metrics and logs with it`, async () => {
    passedOn.length = 0
    const front = await startObserved({
      first,
      second,
      section: {},
      telemetry: {
        otlp_endpoint: rotel.url,
        otlp_signals: ['traces', 'metrics', 'logs'],
        sample_ratio: 0,
        ...form,
      },
    })
    first.script.push(failing(503), failing(503))
    second.script.push(streaming())
    const traceparent = `00-${traceId}-${PARENT_ID}-01`
    const asked = front.ask({ stream: true, temperature: 0.5, seed: 7 }, { traceparent })
    assert.equal((await asked.over).status, 200)
    // The end of the process sends waiting data.
    await front.process.stop()
    for (const path of ['/v1/traces', '/v1/metrics', '/v1/logs'])
      await until(`${path} has come`, () => passedOn.some((one) => one.path === path))
    await until('all spans have arrived', () => spansOf(traceId).length === 4)
    const spans = spansOf(traceId)
    const server = spans.find(({ kind }) => kind === 2)
    const attempts = spans.filter(({ kind }) => kind === 3)
    assert.deepEqual(
      [server?.name, server?.parent, server?.status],
      ['POST /v1/chat/completions', PARENT_ID, 0],
    )
    assert.deepEqual(
      attempts.map(({ name: called, parent, status }) => [called, parent, status]),
      [
        ['chat one', server?.spanId, 2],
        ['chat one', server?.spanId, 2],
        ['chat two', server?.spanId, 0],
      ],
    )
    assert.partialDeepStrictEqual(attempts[2]?.attributes, {
      'gen_ai.request.model': 'two',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.seed': 7,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
    })
    assert.ok(attempts.every(({ start, end }) => start > 0n && end >= start))
  })
}
