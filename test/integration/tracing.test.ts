/** Traces as a collector receives them, read with OpenTelemetry's official definitions. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { cases } from '../helpers/cases.ts'
import { type Asked, failing, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { aRandom } from '../helpers/random.ts'
import { type ReadSpan, readBatch } from '../helpers/telemetry/spans.ts'
import { until } from '../helpers/until.ts'
import { startObserved } from './observed-gateway.ts'

const { 'decode-otlp': decoder = '' } = await providePrograms(['decode-otlp'])

async function startCollector() {
  const batches: { body: Buffer; headers: IncomingHttpHeaders; path: string | undefined }[] = []
  const collector = {
    url: '',
    batches,
    hangs: false,
    asked: 0,
    spans: (): ReadSpan[] => batches.flatMap(({ body }) => readBatch(body).spans),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming))
    collector.asked++
    if (collector.hangs) return
    batches.push({ body, headers: incoming.headers, path: incoming.url })
    outgoing.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return collector
}

const [first, second, collector] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startCollector(),
])

async function start(telemetry: Readonly<Record<string, unknown>>) {
  return await startObserved(
    {
      first,
      second,
      // Texts that a gateway keeps for its own commands are not exported either.
      route: { trace: { keep_texts: true } },
      telemetry: { otlp_endpoint: collector.url, otlp_headers: TOKEN, ...telemetry },
    },
    { env: { COLLECTOR_TOKEN: 'hush-collector' } },
  )
}

const TOKEN = { 'x-token': '${env:COLLECTOR_TOKEN}' }
const front = await start({ sample_ratio: 0, trace_ring: 50 })
after(async () => {
  await front.process.stop()
  collector.close()
  await Promise.all([first.close(), second.close()])
})

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT_ID = '00f067aa0ba902b7'

/** As the official definitions print it. */
interface Printed {
  readonly name: string
  readonly kind: string
  readonly traceId: string
  readonly parentSpanId?: string
  readonly spanId: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly status?: { readonly code?: string }
}

function printed(body: Buffer): Printed[] {
  const { status, stdout, stderr } = spawnSync(decoder, { input: body })
  assert.equal(status, 0, stderr.toString())
  const { resourceSpans } = JSON.parse(stdout.toString())
  return resourceSpans[0].scopeSpans[0].spans
}

const hex = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString('hex')

test("a retry and a fallback are three CLIENT spans below the SERVER span, in the caller's trace", async () => {
  first.script.push(failing(503), failing(503))
  second.script.push(streaming())
  const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`, tracestate: 'a=b' }
  const heard = await front.ask(
    { stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'the secret word' }] },
    headers,
  ).over
  assert.equal(heard.status, 200, heard.text)
  await until('the batch has arrived', () => collector.batches.length === 1)
  const [batch] = collector.batches
  assert.equal(batch?.path, '/v1/traces')
  assert.equal(batch?.headers['content-type'], 'application/x-protobuf')
  assert.equal(batch?.headers['x-token'], 'hush-collector')
  const spans = printed(batch?.body ?? Buffer.alloc(0))
  const server = hex(spans[0]?.spanId)
  assert.deepEqual(
    spans.map(({ name, kind, traceId, parentSpanId, status }) => [
      name,
      kind,
      hex(traceId),
      hex(parentSpanId),
      status?.code,
    ]),
    [
      ['POST /v1/chat/completions', 'SPAN_KIND_SERVER', TRACE_ID, PARENT_ID, undefined],
      ['chat one', 'SPAN_KIND_CLIENT', TRACE_ID, server, 'STATUS_CODE_ERROR'],
      ['chat one', 'SPAN_KIND_CLIENT', TRACE_ID, server, 'STATUS_CODE_ERROR'],
      ['chat two', 'SPAN_KIND_CLIENT', TRACE_ID, server, undefined],
    ],
  )
  const parents = [...first.asked, ...second.asked].map((asked: Asked) => asked.headers.traceparent)
  assert.deepEqual(
    parents,
    spans.slice(1).map(({ spanId }) => `00-${TRACE_ID}-${hex(spanId)}-01`),
  )
  assert.equal(second.asked[0]?.headers.tracestate, 'a=b')
  const attributes = Object.fromEntries(
    spans[3]?.attributes.map(({ key, value }) => [key, value]) ?? [],
  )
  assert.partialDeepStrictEqual(attributes, {
    'gen_ai.provider.name': { stringValue: 'openai' },
    'gen_ai.request.model': { stringValue: 'two' },
    'gen_ai.request.stream': { boolValue: true },
    'gen_ai.request.max_tokens': { intValue: '9' },
    'gen_ai.usage.input_tokens': { intValue: '7' },
    'gen_ai.usage.output_tokens': { intValue: '3' },
    'gw.cost_usd': { doubleValue: 0.000013 },
    'server.port': { intValue: new URL(second.url).port },
  })
  // The ring has the same decision, by either id.
  const trace = await front.admin(`/traces/${TRACE_ID}`)
  assert.equal(trace.request_id, heard.headers['x-request-id'])
  assert.deepEqual(
    trace.attempts.map(({ span_id }: { span_id: string }) => span_id),
    spans.slice(1).map(({ spanId }) => hex(spanId)),
  )
})

test('exported data contains neither content nor credentials', async () => {
  const sent = Buffer.concat(collector.batches.map(({ body }) => body)).toString('latin1')
  assert.ok(sent.includes('gen_ai.usage.input_tokens'))
  for (const secret of [
    'the secret word',
    'hel',
    front.key,
    'upstream-credential',
    'hush-collector',
    'Bearer',
  ])
    assert.ok(!sent.includes(secret), secret)
})

test('failed traces outside the sample are exported, and upstreams learn that they are not sampled', async () => {
  const before = collector.spans().length
  const asked = second.asked.length
  assert.equal((await front.chat()).status, 200)
  first.script.push(failing(500), failing(500))
  second.script.push(failing(500))
  assert.equal((await front.chat()).status, 502)
  await until('the failed trace has arrived', () => collector.spans().length > before)
  const [server, ...attempts] = collector.spans().slice(before)
  assert.deepEqual(
    [server?.attributes['gw.sampled'], server?.status, attempts.length],
    ['error', 2, 3],
  )
  assert.match(
    String(second.asked[asked]?.headers.traceparent),
    /^00-[0-9a-f]{32}-[0-9a-f]{16}-02$/,
  )
  await until('the counter', async () => {
    const exported = await front.value('gw_spans_exported_total')
    return exported === collector.spans().length
  })
})

test('spans name the caller, and contain facts about the answer', async () => {
  const before = collector.spans().length
  const headers = {
    traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
    'user-agent': `agent/1 ${front.key}`,
  }
  assert.equal((await front.ask({}, headers).over).status, 200)
  await until('both spans', () => collector.spans().length === before + 2)
  const [server, client] = collector.spans().slice(before)
  assert.partialDeepStrictEqual(server?.attributes, {
    'client.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'user_agent.original': 'agent/1 gw_***',
  })
  assert.partialDeepStrictEqual(client?.attributes, {
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.model': 'served',
    'gen_ai.response.finish_reasons': ['stop'],
  })
})

const PARAMETERS = { temperature: 0.25, top_p: 0.5 }
const LARGE = [{ role: 'user', content: 'x'.repeat(100_000) }]
const SMALL = [{ role: 'user', content: 'hi' }]

const ASKED_BY = [
  ['/v1/chat/completions', { messages: SMALL, stop: ['private'] }],
  ['/v1/chat/completions', { messages: LARGE, stop: ['private'] }],
  ['/v1/messages', { messages: SMALL, max_tokens: 9, stop_sequences: ['private'] }],
  ['/v1/responses', { input: 'hi' }],
] as const

for (const [path, body] of ASKED_BY) {
  const text = JSON.stringify({ model: 'chat', ...body, ...PARAMETERS })
  test(`an attempt for ${path} with ${text.length} bytes records its parameters, and no text of the client`, async () => {
    const before = collector.spans().length
    const answer = await fetch(front.process.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${front.key}`,
        'content-type': 'application/json',
        traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
      },
      body: text,
    })
    assert.equal(answer.status, 200, await answer.text())
    await until('both spans', () => collector.spans().length === before + 2)
    const [server, client] = collector.spans().slice(before)
    assert.equal(server?.attributes['gen_ai.request.temperature'], undefined)
    assert.partialDeepStrictEqual(client?.attributes, {
      'gen_ai.request.temperature': 0.25,
      'gen_ai.request.top_p': 0.5,
    })
    assert.ok(!JSON.stringify([server?.attributes, client?.attributes]).includes('private'))
  })
}

test('attempts of a failed request outside the sample record their parameters too', async () => {
  const before = collector.spans().length
  first.script.push(failing(500), failing(500))
  second.script.push(failing(500))
  assert.equal((await front.chat({ temperature: 1.5 })).status, 502)
  await until('the failed trace has arrived', () => collector.spans().length === before + 4)
  const [server, ...attempts] = collector.spans().slice(before)
  assert.equal(server?.attributes['gw.sampled'], 'error')
  const temperatures = attempts.map(({ attributes }) => attributes['gen_ai.request.temperature'])
  assert.deepEqual(temperatures, [1.5, 1.5, 1.5])
})

test('a cut stream records where it came from, and that its answer ended with an error', async () => {
  const before = collector.spans().length
  first.script.push(streaming({ end: 'cut' }))
  await front.ask({ stream: true }).over
  await until('both spans', () => collector.spans().length === before + 2)
  const [server, client] = collector.spans().slice(before)
  assert.equal(server?.attributes['client.address'], '127.0.0.1')
  assert.deepEqual(client?.attributes['gen_ai.response.finish_reasons'], ['error'])
})

test('SIGTERM: waiting data is sent before the process ends', async () => {
  const other = await start({ sample_ratio: 1 })
  const before = collector.spans().length
  for (let asked = 0; asked < 5; asked++) await other.chat()
  other.process.signal('SIGTERM')
  assert.deepEqual(await other.process.exited, { code: 0, signal: null })
  assert.equal(collector.spans().length - before, 10)
})

test('SIGTERM: a collector that hangs delays the process by at most the drain timeout', async () => {
  const other = await start({ sample_ratio: 1, otlp_timeout_ms: 60_000 })
  collector.hangs = true
  const before = collector.asked
  const heard = await other.chat()
  assert.equal(heard.status, 200)
  await until('it is asked', () => collector.asked > before)
  const begun = performance.now()
  other.process.signal('SIGTERM')
  assert.deepEqual(await other.process.exited, { code: 0, signal: null })
  assert.ok(performance.now() - begun < 30_000)
})

test('the sum over the spans of all attempts equals the rows, despite random faults', async () => {
  collector.hangs = false
  const other = await start({ sample_ratio: 1 })
  const random = aRandom(4)
  const before = collector.spans().length
  const faults = [failing(500), failing(503), streaming({ end: 'cut' })]
  for (let asked = 0; asked < cases(150, 1_000); asked++) {
    const fault = faults[random(8)]
    if (fault !== undefined) first.script.push(fault)
    await other.ask({ stream: random(2) === 0 }).over.catch(() => undefined)
    first.script.length = 0
  }
  const { rows } = await other.admin('/usage?by=upstream')
  await other.process.stop()
  const spans = collector.spans().slice(before)
  const ofSpans = (name: string) =>
    spans.reduce((sum, { attributes }) => sum + Number(attributes[name] ?? 0), 0)
  const ofRows = (name: string) =>
    rows.reduce((sum: number, row: Record<string, number>) => sum + (row[name] ?? 0), 0)
  assert.ok(ofRows('estimated') > 0 && ofRows('errors') > 0)
  for (const name of ['input_tokens', 'output_tokens'])
    assert.equal(ofSpans(`gen_ai.usage.${name}`), ofRows(name), name)
  assert.equal(Math.round(ofSpans('gw.cost_usd') * 1e9), ofRows('cost_nano_usd'))
  assert.ok(
    spans.every(
      ({ kind, attributes }) => kind === 3 || !('gen_ai.usage.input_tokens' in attributes),
    ),
  )
})
