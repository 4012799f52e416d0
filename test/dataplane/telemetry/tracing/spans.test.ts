/** A decision as spans: which there are, what they contain, and what they never contain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trace } from '../../../../dataplane/telemetry/trace/fields.ts'
import { Exporter } from '../../../../dataplane/telemetry/tracing/exporter.ts'
import { OtlpPage, PAGE_BYTES } from '../../../../dataplane/telemetry/tracing/otlp-page.ts'
import { parametersOf } from '../../../../dataplane/telemetry/tracing/parameters.ts'
import { type Client, writeSpans } from '../../../../dataplane/telemetry/tracing/spans.ts'
import type { ModelRequest } from '../../../../dataplane/wire/inner-form.ts'
import { aClock } from '../../../helpers/clock.ts'
import { type ReadBatch, readBatch } from '../../../helpers/telemetry/spans.ts'
import {
  anAttempt,
  answering,
  aTrace,
  client,
  PARENT_ID,
  SPAN_ID,
  snapshot,
  TRACE_ID,
  USAGE,
} from './a-decision.ts'

type Kept = 'error' | 'slow' | undefined

function batchOf(trace: Trace, kept?: Kept, from: Client = client): ReadBatch {
  const bodies: Buffer[] = []
  const exporter = new Exporter({
    post: async (body) => {
      bodies.push(Buffer.from(body))
      return { kind: 'taken', rejected: 0 }
    },
    open: () => new OtlpPage({ resource: { 'service.name': 'gw' }, version: '1.4.0' }, writeSpans),
    most: { bytes: PAGE_BYTES, items: 512 },
    clock: aClock(),
    random: () => 0.5,
    exported: { value: 0 },
    dropped: () => ({ value: 0 }),
    posts: () => ({ value: 0 }),
    warn() {},
  })
  exporter.add({ trace, snapshot, client: from, kept })
  exporter.flush()
  assert.equal(bodies.length, 1)
  return readBatch(bodies[0] ?? Buffer.alloc(0))
}

const START = BigInt(Date.parse('2026-11-21T12:00:00.250Z')) * 1_000_000n

/** Times are exact to a quarter of a microsecond. */
function msAfterStart(time: bigint): number {
  return Math.abs(Math.round(Number(time - START) / 1000) / 1000)
}

test('a request is one SERVER span of the caller, and one CLIENT span for each attempt', () => {
  const { resource, scope, spans } = batchOf(aTrace())
  assert.deepEqual([resource, scope], [{ 'service.name': 'gw' }, ['gw', '1.4.0']])
  assert.deepEqual(
    spans.map(({ name, kind, spanId, parent, traceId, status, flags }) => [
      name,
      kind,
      spanId,
      parent,
      traceId,
      status,
      flags,
    ]),
    [
      ['POST /v1/chat/completions', 2, SPAN_ID, PARENT_ID, TRACE_ID, 0, 0x301],
      ['chat llama', 3, '2222222222222222', SPAN_ID, TRACE_ID, 2, 0x101],
      ['chat gpt-4o-mini', 3, '3333333333333333', SPAN_ID, TRACE_ID, 0, 0x101],
    ],
  )
  assert.deepEqual(
    spans.map(({ start, end }) => [msAfterStart(start), msAfterStart(end)]),
    [
      [0, 40],
      [2, 10.5],
      [12, 40],
    ],
  )
})

test("the span of a request has HTTP attributes and the gateway's decisions", () => {
  const [server] = batchOf(aTrace()).spans
  assert.deepEqual(server?.attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'url.path': '/v1/chat/completions',
    'http.response.status_code': 200,
    'client.address': '10.0.0.7',
    'user_agent.original': 'OpenAI/Python 2.9.0',
    'network.protocol.version': '1.1',
    'gw.request_id': 'r-1',
    'gw.tenant': 'acme',
    'gw.key_id': 'k1',
    'gw.model': 'chat',
    'gw.route': 'chat',
    'gw.strategy': 'primary_with_fallback',
    'gw.attempts': 2,
    'gw.overhead_ms': 2,
    'gw.ttft_ms': 20,
  })
})

test('the span of an attempt has the attributes of generative AI, tokens and cost among them', () => {
  const [, failed, served] = batchOf(aTrace()).spans
  const common = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.stream': true,
    'gen_ai.request.max_tokens': 100,
  }
  assert.deepEqual(failed?.attributes, {
    ...common,
    'gen_ai.provider.name': 'vllm',
    'gen_ai.request.model': 'llama',
    'server.address': '::1',
    'server.port': 8000,
    'gw.upstream': 'local',
    'gw.attempt': 1,
    'gw.outcome': 'overloaded',
    'http.response.status_code': 503,
    'error.type': '503',
  })
  assert.deepEqual(served?.attributes, {
    ...common,
    'gen_ai.provider.name': 'azure.ai.openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'server.address': 'x.openai.azure.com',
    'server.port': 443,
    'gw.upstream': 'eu',
    'gw.attempt': 2,
    'gw.outcome': 'ok',
    'http.response.status_code': 200,
    'gen_ai.response.model': 'gpt-4o-mini-2024',
    'gen_ai.response.id': 'chatcmpl-7',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.response.time_to_first_chunk': 0.008,
    'gen_ai.usage.input_tokens': 812,
    'gen_ai.usage.output_tokens': 233,
    'gen_ai.usage.cache_read.input_tokens': 512,
    'gen_ai.usage.cache_write.input_tokens': 100,
    'gen_ai.usage.cache_creation.input_tokens': 100,
    'gen_ai.usage.reasoning.output_tokens': 33,
    'gen_ai.usage.cost': 0.000091,
    'gw.cost_usd': 0.000091,
  })
})

test('stages are events of the request', () => {
  const [server] = batchOf(
    aTrace({
      body_ms: 1,
      guardrails: [{ name: 'pii', side: 'input', verdict: 'mask', ms: 0.5 }],
      passed_over: [{ upstream: 'local', why: 'unhealthy' }],
    }),
  ).spans
  assert.deepEqual(
    server?.events.map(({ name, time, attributes }) => [name, msAfterStart(time), attributes]),
    [
      ['gw.received', 1, {}],
      [
        'gw.guardrail',
        2,
        { 'gw.guardrail': 'pii', 'gw.side': 'input', 'gw.verdict': 'mask', 'gw.duration_ms': 0.5 },
      ],
      ['gw.admitted', 2, {}],
      ['gw.passed_over', 2, { 'gw.upstream': 'local', 'gw.why': 'unhealthy' }],
      ['gw.first_content', 20, {}],
    ],
  )
})

for (const [status, code] of [
  [401, 'ERR_GW_AUTH_INVALID_KEY'],
  [402, 'ERR_GW_BUDGET_EXCEEDED'],
  [429, 'ERR_GW_RATE_LIMIT_LOCAL'],
] as const) {
  test(`a refusal with ${status} is only a SERVER span, and not an error of the server`, () => {
    const { spans } = batchOf(aTrace({ status, code, attempts: [], ttft_ms: undefined }))
    assert.equal(spans.length, 1)
    assert.deepEqual(
      [
        spans[0]?.status,
        spans[0]?.attributes['error.type'],
        spans[0]?.attributes['http.response.status_code'],
        spans[0]?.attributes['gw.code'],
      ],
      [0, undefined, status, code],
    )
  })
}

test("an upstream's 429 is an error of the attempt", () => {
  const attempts = [anAttempt({ outcome: 'rate_limited', status: 429 })]
  const [server, client] = batchOf(
    aTrace({ status: 429, code: 'ERR_GW_UPSTREAM_RATE_LIMIT', attempts }),
  ).spans
  assert.deepEqual([server?.status, client?.status], [0, 2])
  assert.equal(client?.attributes['error.type'], '429')
})

const PARAMETERS = {
  temperature: 0.5,
  top_p: 1,
  frequency_penalty: -0.25,
  presence_penalty: 0,
  seed: 42,
  reasoning_effort: 'high',
  response_format: { type: 'json_schema', json_schema: { name: 'private' } },
}

const asking = (body: object, bytes = 100) =>
  parametersOf({ body, bytes: Buffer.alloc(bytes) } as ModelRequest)

function parametersIn(body: object, bytes?: number) {
  const { spans } = batchOf(aTrace(), undefined, { ...client, parameters: asking(body, bytes) })
  const [server, ...attempts] = spans.map(({ attributes }) =>
    Object.fromEntries(
      Object.entries(attributes).filter(([name]) =>
        /request\.(temp|top|freq|pres|seed|reas)|output\.type/.test(name),
      ),
    ),
  )
  assert.deepEqual(server, {})
  assert.deepEqual(attempts[0], attempts[1])
  return attempts[0]
}

const SAID = {
  'gen_ai.request.temperature': 0.5,
  'gen_ai.request.top_p': 1,
  'gen_ai.request.frequency_penalty': -0.25,
  'gen_ai.request.presence_penalty': 0,
  'gen_ai.request.seed': 42,
  'gen_ai.request.reasoning.level': 'high',
  'gen_ai.output.type': 'json',
}

test('each attempt has the parameters of its request, even with a large body, whose tree is released before', () => {
  assert.deepEqual(parametersIn(PARAMETERS), SAID)
  const body: Record<string, unknown> = { ...PARAMETERS }
  const parameters = asking(body, 100_000)
  for (const name of Object.keys(body)) delete body[name]
  const [, attempt] = batchOf(aTrace(), undefined, { ...client, parameters }).spans
  assert.partialDeepStrictEqual(attempt?.attributes, SAID)
})

test('no span contains parameters of other types, or texts of the client', () => {
  const odd = {
    temperature: '0.5',
    top_p: null,
    seed: -1,
    reasoning_effort: 'private',
    response_format: { type: 'private' },
    stop: ['private'],
    user: 'private',
  }
  for (const bytes of [100, 100_000]) assert.deepEqual(parametersIn(odd, bytes), {})
  const { spans } = batchOf(aTrace(), undefined, {
    ...client,
    parameters: asking({ ...odd, ...PARAMETERS }),
  })
  assert.ok(!JSON.stringify(spans.map(({ attributes }) => attributes)).includes('private'))
  assert.deepEqual(parametersIn({ seed: 1.5, response_format: { type: 'text' } }), {
    'gen_ai.output.type': 'text',
  })
})

test('a stream that was cut keeps its status and is an error of both', () => {
  const usage = { ...USAGE, estimated: true }
  const code = 'ERR_GW_STREAM_ABORTED'
  const [server, client] = batchOf(
    aTrace({ status: 499, code, attempts: [anAttempt({ usage })] }),
  ).spans
  for (const span of [server, client])
    assert.deepEqual([span?.status, span?.attributes['error.type']], [2, code])
  assert.equal(client?.attributes['http.response.status_code'], 200)
  assert.equal(client?.attributes['gw.usage_estimated'], true)
})

test('a choice whose end never came has the finish reason error', () => {
  const code = 'ERR_GW_STREAM_ABORTED'
  const answer = answering('a', 'm', ['stop'])
  const [, client] = batchOf(
    aTrace({ status: 499, code, choices: 3, attempts: [anAttempt({ answer })] }),
  ).spans
  assert.deepEqual(client?.attributes['gen_ai.response.finish_reasons'], ['stop', 'error', 'error'])
  assert.equal(client?.attributes['gen_ai.request.choice.count'], 3)
  const [, silent] = batchOf(aTrace({ status: 499, code, attempts: [anAttempt({})] })).spans
  assert.deepEqual(silent?.attributes['gen_ai.response.finish_reasons'], ['error'])
})

test('an answer without facts, and a failed attempt, have no such attributes', () => {
  const answer = answering('a', 'm', ['stop'])
  const attempts = [anAttempt({ outcome: 'reset', answer }), anAttempt({})]
  for (const { attributes } of batchOf(aTrace({ attempts })).spans)
    for (const name of ['model', 'id', 'finish_reasons'])
      assert.ok(!(`gen_ai.response.${name}` in attributes))
})

test('texts of the client and of the answer are short, printable, and without keys', () => {
  const long = `é\t sk-abcdefghijkl ${'x'.repeat(1000)}`
  const header = (name: string) => (name === 'user-agent' ? long : undefined)
  const answer = answering('bearer abcdefghijkl', 'm\n', ['y'.repeat(99), 'z'.repeat(999)])
  const from = { incoming: { header, httpVersion: '1.0' }, peerAddress: undefined }
  const [server, sent] = batchOf(
    aTrace({ attempts: [anAttempt({ answer })] }),
    undefined,
    from,
  ).spans
  const agent = String(server?.attributes['user_agent.original'])
  assert.match(agent, /^\?\? sk-\*\*\* x+$/)
  assert.ok(agent.length <= 256)
  assert.equal(server?.attributes['network.protocol.version'], '1.0')
  assert.ok(!('client.address' in (server?.attributes ?? {})))
  assert.partialDeepStrictEqual(sent?.attributes, {
    'gen_ai.response.id': 'bearer***',
    'gen_ai.response.model': 'm?',
    'gen_ai.response.finish_reasons': ['y'.repeat(32)],
  })
})

test('a repetition at the same upstream has its number', () => {
  const attempts = [anAttempt({ outcome: 'server', status: 500 }), anAttempt({})]
  const [, first, second] = batchOf(aTrace({ attempts })).spans
  assert.equal(first?.attributes['http.request.resend_count'], undefined)
  assert.equal(second?.attributes['http.request.resend_count'], 1)
})

test('texts of the client are omitted or cut: queries, unknown models, methods, long names', () => {
  const [server] = batchOf(
    aTrace({
      model: 'the secret of the prompt',
      operation: 'none',
      method: 'PURLOIN',
      path: `/${'é'.repeat(5000)}?key=hush`,
    } as Partial<Trace>),
    'error',
  ).spans
  assert.equal(server?.name, '_OTHER')
  assert.equal(server?.attributes['gw.model'], undefined)
  assert.equal(server?.attributes['http.route'], undefined)
  assert.equal(server?.attributes['url.path'], `/${'é'.repeat(511)}`)
  assert.equal(server?.attributes['gw.sampled'], 'error')
  assert.ok(!JSON.stringify(server?.attributes).includes('hush'))
})
