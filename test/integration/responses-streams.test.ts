/**
 * Strict readers, agents and disconnecting clients rely on this behaviour of POST /v1/responses.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, beforeEach, test } from 'node:test'
import { listOf, recordOf } from '../../dataplane/json/values.ts'
import { callChunk, chunks } from '../helpers/chat-chunks.ts'
import {
  after as afterwards,
  eventsOf,
  failing,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

type Fields = Readonly<Record<string, unknown>>

const [model, spare] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [
    { name: 'model', endpoint: model.url },
    { name: 'spare', endpoint: spare.url },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'model' },
    {
      name: 'pair',
      strategy: 'primary_with_fallback',
      primary: 'model',
      fallback: ['spare'],
      retry: { max_attempts: 2, initial_delay_ms: 0 },
    },
  ],
  gateway: { sse: { heartbeat_seconds: 1 } },
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000 }],
})
after(() => Promise.all([front.process.stop(), model.close(), spare.close()]))

beforeEach(() => {
  for (const upstream of [model, spare]) {
    upstream.asked.length = 0
    upstream.script.length = 0
    upstream.reply = whole()
  }
})

async function post(
  fields: Fields,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return await fetch(`${front.process.url}/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${front.key}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ model: 'chat', input: 'hi', ...fields }),
    ...(signal && { signal }),
  })
}

async function events(fields: Fields = {}) {
  return eventsOf({ text: await (await post({ ...fields, stream: true })).text() })
}

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
async function bodyOf(answer: Response): Promise<any> {
  return await answer.json()
}

/** The required members of each published event type, besides type and number. */
const DEMANDED: Readonly<Record<string, readonly string[]>> = {
  'response.created': ['response'],
  'response.in_progress': ['response'],
  'response.completed': ['response'],
  'response.output_item.added': ['output_index', 'item'],
  'response.output_item.done': ['output_index', 'item'],
  'response.content_part.added': ['item_id', 'output_index', 'content_index', 'part'],
  'response.content_part.done': ['item_id', 'output_index', 'content_index', 'part'],
  'response.output_text.delta': ['item_id', 'output_index', 'content_index', 'delta', 'logprobs'],
  'response.output_text.done': ['item_id', 'output_index', 'content_index', 'text', 'logprobs'],
  'response.refusal.delta': ['item_id', 'output_index', 'content_index', 'delta'],
  'response.refusal.done': ['item_id', 'output_index', 'content_index', 'refusal'],
  'response.function_call_arguments.delta': ['item_id', 'output_index', 'delta'],
  'response.function_call_arguments.done': ['item_id', 'output_index', 'arguments', 'name'],
  'response.custom_tool_call_input.delta': ['item_id', 'output_index', 'delta'],
  'response.custom_tool_call_input.done': ['item_id', 'output_index', 'input'],
  'response.reasoning_summary_part.added': ['item_id', 'output_index', 'summary_index', 'part'],
  'response.reasoning_summary_part.done': ['item_id', 'output_index', 'summary_index', 'part'],
  'response.reasoning_summary_text.delta': ['item_id', 'output_index', 'summary_index', 'delta'],
  'response.reasoning_summary_text.done': ['item_id', 'output_index', 'summary_index', 'text'],
}
const RESPONSE_MEMBERS = [
  ...['id', 'object', 'created_at', 'status', 'error', 'incomplete_details', 'instructions'],
  ...['metadata', 'model', 'output', 'parallel_tool_calls', 'temperature', 'tool_choice', 'tools'],
  ...['top_p', 'usage'],
]

test('each event has all members that its type requires, and each item has a separate id', async () => {
  model.reply = chunks(
    { reasoning_content: 'Hm.' },
    { content: 'I look.' },
    { refusal: 'No.' },
    callChunk(0, { name: 'look', arguments: '{}' }, 'a'),
    callChunk(1, { name: 'shell', arguments: '{"input":"ls"}' }, 'b'),
    'tool_calls',
  )
  const tools = [
    { type: 'function', name: 'look', parameters: {} },
    { type: 'custom', name: 'shell' },
  ]
  const seen = await events({ tools })
  const items = new Map<string, string[]>()
  for (const [place, one] of seen.entries()) {
    assert.equal(one.sequence_number, place)
    const demanded = DEMANDED[one.type] ?? assert.fail(`${one.type} is no known event`)
    for (const member of demanded) assert.ok(member in one, `${one.type} lacks ${member}`)
    for (const member of one.response ? RESPONSE_MEMBERS : [])
      assert.ok(member in one.response, `${one.type} lacks response.${member}`)
    const id = one.item_id ?? one.item?.id
    if (id !== undefined) items.set(id, [...(items.get(id) ?? []), one.type])
  }
  assert.equal(items.size, 5)
  for (const types of items.values()) {
    assert.equal(types[0], 'response.output_item.added')
    assert.deepEqual(
      types.filter((type) => type === 'response.output_item.done'),
      types.slice(-1),
    )
  }
  assert.deepEqual(new Set(seen.map(({ type }) => type)), new Set(Object.keys(DEMANDED)))
})

test('if all upstreams fail after a heartbeat, the stream reports it in every form and ends properly', async () => {
  const waiting = Promise.withResolvers<void>()
  model.reply = afterwards(waiting.promise, failing(500))
  spare.reply = failing(503)
  const answer = await post({ model: 'pair', stream: true })
  const body = (answer.body ?? assert.fail()).pipeThrough(new TextDecoderStream())
  let text = ''
  for await (const piece of body) {
    text += piece
    if (text.includes('response.in_progress')) waiting.resolve()
  }
  const seen = eventsOf({ text })
  const types = seen.map(({ type }) => type).filter((type) => type !== 'keepalive')
  assert.deepEqual(types, ['response.created', 'response.in_progress', 'error', 'response.failed'])
  const { code, message, param, error } = seen.at(-2)
  assert.deepEqual([error.code, error.message, error.param], [code, message, param])
  assert.match(code, /^ERR_GW_/)
  assert.equal(seen.at(-1).response.status, 'failed')
  assert.ok(seen.at(-1).response.error.message.startsWith(code))
})

test('a fallback after a heartbeat continues the same response, and each attempt is in the trace', async () => {
  const waiting = Promise.withResolvers<void>()
  model.reply = afterwards(waiting.promise, failing(500))
  spare.reply = streaming()
  const answer = await post({ model: 'pair', stream: true })
  let text = ''
  for await (const piece of (answer.body ?? assert.fail()).pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes('response.in_progress')) waiting.resolve()
  }
  const last = eventsOf({ text }).at(-1)
  assert.equal(last.response.output[0].content[0].text, 'hello')
  const trace = await front.admin(`/traces/${answer.headers.get('x-request-id')}`)
  assert.deepEqual(
    trace.attempts.map(({ upstream }: Fields) => upstream),
    ['model', 'spare'],
  )
})

test('usage that no upstream reports is estimated, in the answer and in the accounts', async () => {
  model.reply = (outgoing, asked) =>
    streaming()(outgoing, { ...asked, body: { ...asked.body, stream_options: undefined } })
  const answer = await post({ stream: true })
  const { usage, status } = eventsOf({ text: await answer.text() }).at(-1).response
  assert.equal(status, 'completed')
  assert.ok(usage.output_tokens > 0)
  const trace = await front.admin(`/traces/${answer.headers.get('x-request-id')}`)
  assert.deepEqual([trace.usage_estimated, trace.completion_tokens], [true, usage.output_tokens])
})

test('an answer without a limit is not limited here, and is charged for its usage', async () => {
  const before = await front.value(SPENT)
  model.reply = whole('hello', { prompt_tokens: 7, completion_tokens: 20_000 })
  const { output } = await bodyOf(await post({}))
  assert.equal(output[0].content[0].text, 'hello')
  const { max_tokens, max_completion_tokens } = model.asked[0]?.body ?? {}
  assert.deepEqual([max_tokens, max_completion_tokens], [undefined, undefined])
  await until('it is charged', async () => (await front.value(SPENT)) === before + 20_007)
})

const SPENT = 'gw_budget_tokens_used{tenant="acme",window="day"}'
const ABORTED = 'gw_stream_aborted_total'

test('a client that closes after the last event leaves nothing open, and one that closes during the text is charged for it', async () => {
  const aborts = async () =>
    [...(await front.series())]
      .filter(([name]) => name.startsWith(ABORTED))
      .reduce((sum, [, value]) => sum + value, 0)
  const before = await aborts()
  model.reply = streaming()
  const answered = await post({ stream: true })
  const reader = (answered.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader()
  for (let text = ''; !text.includes('response.completed'); )
    text += (await reader.read()).value ?? assert.fail('It ended.')
  await reader.cancel()
  const path = `/traces/${answered.headers.get('x-request-id')}`
  await until('the trace is written', async () => (await front.admin(path)).status === 200)
  assert.equal(await aborts(), before)

  const { promise, resolve } = Promise.withResolvers<void>()
  model.reply = streaming({ hold: promise })
  const abandoned = model.abandoned
  const leaving = new AbortController()
  const left = await post({ stream: true }, {}, leaving.signal)
  const body = (left.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader()
  for (let text = ''; !text.includes('"hel"'); ) text += (await body.read()).value ?? assert.fail()
  leaving.abort()
  await until('the upstream request is aborted', () => model.abandoned === abandoned + 1)
  resolve()
  const id = left.headers.get('x-request-id')
  await until('it is settled', async () => (await front.admin(`/traces/${id}`)).usage_estimated)
  const trace = await front.admin(`/traces/${id}`)
  assert.deepEqual([trace.status, trace.completion_tokens], [499, 1])
})

test('every request for a stored response gets the same 404, for every caller', async () => {
  const seen = new Set<string>()
  for (const [method, path] of [
    ['GET', 'resp_1'],
    ['GET', 'resp_1?stream=true&starting_after=3'],
    ['DELETE', 'resp_1'],
    ['POST', 'resp_1/cancel'],
    ['GET', 'resp_1/input_items'],
  ] as const) {
    for (const key of [front.key, 'unknown']) {
      const headers = { authorization: `Bearer ${key}` }
      const answer = await fetch(`${front.process.url}/v1/responses/${path}`, { method, headers })
      assert.equal(answer.status, 404, `${method} ${path}`)
      const { error } = await bodyOf(answer)
      seen.add(error.message.replace(/^.* is not there/, ''))
      assert.equal(error.code, 'ERR_GW_ROUTE_NOT_FOUND')
    }
  }
  assert.deepEqual([...seen], [': this gateway does not store responses.'])
})

test('a call without output and an output without a call are named by their id', async () => {
  const call = { type: 'function_call', call_id: 'call_7', name: 'f', arguments: '{}' }
  for (const input of [[call], [{ type: 'function_call_output', call_id: 'call_7', output: '' }]]) {
    const { error } = await bodyOf(await post({ input }))
    assert.match(error.message, /call_7/)
  }
  assert.equal(model.asked.length, 0)
})

test('the request of a coding agent is served, with its tools and those in a namespace', async () => {
  const file = new URL('../fixtures/clients/codex.json', import.meta.url)
  const asked = JSON.parse(readFileSync(file, 'utf8'))
  model.reply = streaming()
  const answer = await post(asked, { 'session-id': 'session-1' })
  assert.equal(eventsOf({ text: await answer.text() }).at(-1).type, 'response.completed')
  assert.match(String(answer.headers.get('x-gw-dropped-parameters')), /\(web_search\)/)
  const names = listOf(model.asked[0]?.body.tools).map(
    (tool) => recordOf(recordOf(tool).function).name,
  )
  assert.ok(names.includes('exec_command'), names.join())
  assert.ok(names.includes('multi_agent_v1__close_agent'), names.join())
  const { session_id } = await front.admin(`/traces/${answer.headers.get('x-request-id')}`)
  assert.equal(session_id, 'session-1')
})

// It makes an upstream cool down, so it comes last.
test('a failed response has the code that tells agents whether and when to retry', async () => {
  for (const [reply, code, words] of [
    [
      failing(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '7' }),
      'rate_limit_exceeded',
      /^ERR_GW_UPSTREAM_RATE_LIMIT: .*try again in 7s/,
    ],
    [
      failing(400, { code: 'context_length_exceeded' }),
      'context_length_exceeded',
      /^ERR_GW_CONTEXT_OVERFLOW: /,
    ],
    [failing(500), 'server_error', /^ERR_GW_UPSTREAM_ERROR: /],
  ] as const) {
    const waiting = Promise.withResolvers<void>()
    model.reply = afterwards(waiting.promise, reply)
    const { body } = await post({ stream: true })
    let text = ''
    for await (const piece of (body ?? assert.fail()).pipeThrough(new TextDecoderStream())) {
      text += piece
      if (text.includes('response.in_progress')) waiting.resolve()
    }
    const { error } = eventsOf({ text }).at(-1).response
    assert.equal(error.code, code)
    assert.match(error.message, words)
  }
})
