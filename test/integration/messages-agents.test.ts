/**
 * Agents and SDKs of Anthropic's API rely on this behaviour of POST /v1/messages when other models
 * answer.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, beforeEach, test } from 'node:test'
import { listOf } from '../../dataplane/json/values.ts'
import { aKey } from '../helpers/a-key.ts'
import { callChunk, chunks } from '../helpers/chat-chunks.ts'
import {
  after as afterwards,
  failing,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

type Fields = Readonly<Record<string, unknown>>

const mine = aKey({ id: 'mine' })
const other = aKey({ id: 'other', tenant: 'other' })
const limited = aKey({ id: 'limited', tenant: 'limited' })
const [model, spare, claude] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startUpstream(),
])
const front = await startFront({
  upstreams: [
    { name: 'model', endpoint: model.url },
    { name: 'spare', endpoint: spare.url },
    {
      name: 'narrow',
      endpoint: model.url,
      max_queue_depth: 1,
    },
    { name: 'claude', provider: 'anthropic', endpoint: claude.url, model: 'claude-m' },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'model' },
    { name: 'narrow', strategy: 'single', primary: 'narrow' },
    { name: 'claude', strategy: 'single', primary: 'claude' },
    {
      name: 'pair',
      strategy: 'primary_with_fallback',
      primary: 'model',
      fallback: ['spare'],
      retry: { max_attempts: 2, initial_delay_ms: 0 },
    },
  ],
  gateway: { sse: { heartbeat_seconds: 1 } },
  rate_limits: { tenants: [{ tenant: 'limited', requests_per_minute: 1, burst: 1 }] },
  budgets: [{ tenant: 'acme', spend_per_month_usd: 1000 }],
  pricing: [
    { model: 'served', input: 10, cached_input: 1, output: 100 },
    { model: 'claude-m', input: 0, output: 0 },
  ],
  api_keys: [mine.record, other.record, limited.record],
})
after(() => Promise.all([front.process.stop(), model.close(), spare.close(), claude.close()]))

beforeEach(() => {
  for (const upstream of [model, spare, claude]) {
    upstream.asked.length = 0
    upstream.script.length = 0
    upstream.reply = whole()
  }
})

const question = { model: 'chat', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }

async function post(
  fields: Fields,
  headers: Record<string, string> = { 'x-api-key': mine.key },
  path = '/v1/messages',
): Promise<Response> {
  return await fetch(front.process.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...question, ...fields }),
  })
}

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
async function bodyOf(answer: Response): Promise<any> {
  return await answer.json()
}

test("one key may be sent twice, two different keys may not, and the refusal uses the client's envelope", async () => {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const both = await post({}, { 'x-api-key': mine.key, ...bearer(mine.key) })
  assert.equal(both.status, 200)
  const two = await post({}, { 'x-api-key': mine.key, ...bearer(other.key) })
  assert.equal(two.status, 400)
  const none = await post({}, {})
  assert.equal(none.status, 401)
  assert.partialDeepStrictEqual(await none.json(), {
    type: 'error',
    error: { type: 'authentication_error' },
  })
})

test('versions, queries and probes of these clients are accepted', async () => {
  const headers = { 'x-api-key': mine.key, 'anthropic-version': '2026-10-21' }
  const answer = await post({ temperature: 0.5 }, headers, '/v1/messages?beta=true')
  assert.equal(answer.status, 200)
  assert.equal(model.asked[0]?.body.temperature, 0.5)
  const probe = await fetch(front.process.url, { method: 'HEAD' })
  assert.ok([200, 404].includes(probe.status), String(probe.status))
})

test("a request that Anthropic refuses is refused in Anthropic's words", async () => {
  const words = {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'temperature: Extra inputs are not permitted',
    },
    request_id: 'req_1',
  }
  claude.reply = (outgoing) => {
    outgoing.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(words))
  }
  const answer = await post({ model: 'claude', temperature: 0.5 })
  const { error } = await bodyOf(answer)
  assert.deepEqual([answer.status, error.type, error.message], [400, ...Object.values(words.error)])
})

const AGENT = JSON.parse(
  readFileSync(new URL('../fixtures/clients/claude-code.json', import.meta.url), 'utf8'),
)
const HEADERS = {
  'x-api-key': mine.key,
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'claude-code-20250219,context-management-2025-06-27',
}

test('another model serves the request of a coding agent, and the answer names omitted members', async () => {
  model.reply = streaming()
  const answer = await post(AGENT, HEADERS, '/v1/messages?beta=true')
  assert.match(await answer.text(), /event: message_stop\n/)
  const dropped = String(answer.headers.get('x-gw-dropped-parameters')).split(', ')
  assert.deepEqual(dropped.toSorted(), ['anthropic-beta', 'cache_control', 'context_management'])
  const { body } = model.asked[0] ?? assert.fail('It was not asked.')
  assert.equal(listOf(body.tools).length, AGENT.tools.length)
  assert.doesNotMatch(JSON.stringify(body), /x-anthropic-billing-header|cache_control/)
})

test('Anthropic receives the same request unchanged, and nothing is omitted', async () => {
  claude.reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.end('event: message_stop\ndata: {"type":"message_stop"}\n\n')
  }
  const answer = await post({ ...AGENT, model: 'claude' }, HEADERS)
  await answer.text().catch(() => '')
  assert.deepEqual(claude.asked[0]?.body, { ...AGENT, model: 'claude-m' })
  assert.equal(claude.asked[0]?.headers['anthropic-beta'], HEADERS['anthropic-beta'])
  assert.equal(answer.headers.get('x-gw-dropped-parameters'), null)
})

test('other members without a counterpart are named too, briefly and in one line', async () => {
  const odd = { 'a\r\nx-evil: 1': 1, ä: 1, [`k${'x'.repeat(5000)}`]: 1 }
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`m${at}`, 1]))
  const answer = await post({ top_k: 3, ...odd, ...many })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('x-evil'), null)
  const dropped = String(answer.headers.get('x-gw-dropped-parameters'))
  assert.ok(dropped.length < 4000, String(dropped.length))
  assert.ok(dropped.split(', ').includes('top_k'), dropped)
})

for (const [what, calls, input] of [
  [
    'whole in the first chunk',
    [callChunk(0, { name: 'look', arguments: '{"a":1}' }, 'a')],
    { a: 1 },
  ],
  [
    'only in the last chunk',
    [callChunk(0, { name: 'look' }, 'a'), {}, callChunk(0, { arguments: '{"a":1}' })],
    { a: 1 },
  ],
  ['missing', [callChunk(0, { name: 'look' }, 'a')], {}],
] as const) {
  test(`arguments of a call that are ${what} arrive`, async () => {
    model.reply = chunks(...calls, 'tool_calls')
    const text = await (await post({ stream: true })).text()
    const json = [...text.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)]
    const joined = json.map(([, part = '""']) => JSON.parse(part)).join('')
    assert.deepEqual(JSON.parse(joined || '{}'), input)
    assert.match(text, /"type":"tool_use","id":"a","name":"look","input":\{\}/)
    assert.match(text, /"stop_reason":"tool_use"/)
  })
}

test('an empty list of calls is not a call', async () => {
  model.reply = chunks({ content: 'Yes.', tool_calls: [] }, 'stop')
  const text = await (await post({ stream: true })).text()
  assert.doesNotMatch(text, /tool_use/)
})

test('usage shows cached tokens separately, and they are charged once, at their price', async () => {
  const before = await spent()
  model.reply = whole('hello', {
    prompt_tokens: 140,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: 100 },
  })
  const { usage } = await bodyOf(await post({}))
  assert.partialDeepStrictEqual(usage, {
    input_tokens: 40,
    cache_read_input_tokens: 100,
    output_tokens: 10,
  })
  const micros = 40 * 10 + 100 * 1 + 10 * 100
  await until('it is charged', async () => (await spent()) - before === micros)
})

/** In millionths of a dollar. */
async function spent(): Promise<number> {
  const { spend_per_month_usd: month } = await front.admin('/limits/acme')
  return Math.round(Number(month.used) * 1e6)
}

test('another model may still answer while only pings have been sent', async () => {
  const waiting = Promise.withResolvers<void>()
  model.reply = afterwards(waiting.promise, failing(500))
  spare.reply = streaming()
  const answer = await post({ model: 'pair', stream: true })
  let text = ''
  for await (const piece of (answer.body ?? assert.fail()).pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes('event: ping')) waiting.resolve()
  }
  assert.match(text, /^event: ping\n[\s\S]*event: message_stop\n/)
  assert.equal(text.match(/event: message_start/g)?.length, 1)
})

test('a model with a full queue returns 529 and a time to retry', async () => {
  const hold = Promise.withResolvers<void>()
  model.reply = afterwards(hold.promise, whole())
  const first = post({ model: 'narrow' })
  await until('one is running', () => model.asked.length === 1)
  const full = await post({ model: 'narrow' })
  hold.resolve()
  assert.equal((await first).status, 200)
  assert.equal(full.status, 529)
  assert.match(String(full.headers.get('retry-after')), /^[1-9]\d*$/)
  assert.partialDeepStrictEqual(await full.json(), { error: { type: 'overloaded_error' } })
})

for (const [param, fields] of [
  [
    'messages.0.content',
    {
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] },
      ],
    },
  ],
  ['container', { container: 'c' }],
  ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] }],
  ['tools.0', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
  ['max_tokens', { max_tokens: 0 }],
] as const) {
  test(`${param}, which another model does not accept, is refused by name: ${JSON.stringify(fields).slice(0, 60)}`, async () => {
    const answer = await post(fields)
    const { error } = await bodyOf(answer)
    assert.deepEqual([answer.status, error.details.param], [400, param])
    assert.equal(model.asked.length, 0)
  })
}

for (const [param, value] of [
  ['temperature', 'hot'],
  ['top_p', '1'],
  ['top_k', {}],
  ['stop_sequences', 'END'],
  ['tools', {}],
  ['tool_choice', 'any'],
  ['thinking', true],
  ['metadata', 'u'],
] as const) {
  test(`${param} of a wrong type is refused by name, as by Anthropic's own API`, async () => {
    const answer = await post({ [param]: value })
    const { error } = await bodyOf(answer)
    assert.deepEqual([answer.status, error.details.param], [400, param])
    assert.equal(model.asked.length, 0)
  })
}

test('a token count counts towards the rate', async () => {
  const count = () => post({}, { 'x-api-key': limited.key }, '/v1/messages/count_tokens')
  const first = await count()
  assert.ok((await bodyOf(first)).input_tokens > 0)
  const second = await count()
  assert.equal(second.status, 429)
  assert.partialDeepStrictEqual(await second.json(), { error: { type: 'rate_limit_error' } })
})

test('an upstream that finds the prompt too long is reported in the words that make agents compact', async () => {
  model.reply = failing(400, {
    message: "This model's maximum context length is 4096 tokens.",
    code: 'context_length_exceeded',
  })
  const answer = await post({})
  const { error } = await bodyOf(answer)
  assert.equal(answer.status, 400)
  assert.match(error.message, /^prompt is too long/)
  assert.equal(error.type, 'invalid_request_error')
})

test('an agent that retries after a broken stream is charged for both, and both records name its session', async () => {
  model.script.push(streaming({ end: 'cut' }), whole())
  const before = await spent()
  const headers = { ...HEADERS, 'x-claude-code-session-id': 'session-1' }
  const broken = await post({ stream: true }, headers)
  assert.match(await broken.text().catch(String), /hel|terminated/)
  const again = await post({}, headers)
  assert.equal(again.status, 200)
  const ids = [broken, again].map((one) => one.headers.get('x-request-id'))
  const traces = await Promise.all(ids.map(async (id) => await front.admin(`/traces/${id}`)))
  for (const trace of traces) assert.equal(trace.session_id, 'session-1')
  const [seen = 0, answered = 0] = traces.map(
    (one) => one.prompt_tokens * 10 + one.completion_tokens * 100,
  )
  assert.equal(answered, 7 * 10 + 3 * 100)
  assert.ok(seen > 0)
  await until('both are charged', async () => (await spent()) - before === seen + answered)
})
