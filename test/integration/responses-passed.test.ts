/**
 * POST /v1/responses with upstreams that support it: bytes pass through, and the gateway's promises
 * hold.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import { aKey } from '../helpers/a-key.ts'
import {
  failing,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'

const mine = aKey({ id: 'mine' })
const [own, other, chat] = await Promise.all([startUpstream(), startUpstream(), startUpstream()])
for (const upstream of [own, other])
  upstream.vendor = { takesAll: 'Unknown members pass unchanged.' }
const front = await startFront({
  upstreams: [
    { name: 'own', endpoint: own.url, native: ['responses'] },
    { name: 'other', endpoint: other.url, native: ['responses'] },
    { name: 'first', endpoint: own.url, native: ['responses'] },
    { name: 'vllm', provider: 'vllm', endpoint: other.url, native: ['responses'] },
    { name: 'llamacpp', provider: 'llamacpp', endpoint: other.url, native: ['responses'] },
    { name: 'mistaken', endpoint: other.url, native: ['responses'] },
    { name: 'chat', endpoint: chat.url },
  ],
  routes: [
    { name: 'own', strategy: 'single', primary: 'own' },
    { name: 'vllm', strategy: 'single', primary: 'vllm' },
    { name: 'llamacpp', strategy: 'single', primary: 'llamacpp' },
    { name: 'mistaken', strategy: 'single', primary: 'mistaken' },
    { name: 'pair', strategy: 'primary_with_fallback', primary: 'own', fallback: ['chat'] },
    { name: 'two', strategy: 'primary_with_fallback', primary: 'own', fallback: ['other'] },
    { name: 'cooled', strategy: 'primary_with_fallback', primary: 'first', fallback: ['other'] },
  ],
  gateway: { sse: { heartbeat_seconds: 1 } },
  api_keys: [mine.record],
})
after(() => Promise.all([front.process.stop(), own.close(), other.close(), chat.close()]))

const baseURL = `${front.process.url}/v1`
const client = new OpenAI({ apiKey: mine.key, baseURL, maxRetries: 0 })

beforeEach(() => {
  for (const upstream of [own, other, chat]) {
    upstream.asked.length = 0
    upstream.script.length = 0
    upstream.reply = answering()
  }
  chat.reply = whole()
})

const USAGE = {
  input_tokens: 7,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 10,
}

function aResponse(members: object = {}): object {
  return {
    id: 'resp_upstream',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'served',
    error: null,
    incomplete_details: null,
    store: false,
    output: [
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'hello', annotations: [] }],
      },
    ],
    usage: USAGE,
    kept_as_it_is: 1.0,
    ...members,
  }
}

function answering(members: object = {}): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(aResponse(members)))
  }
}

type Said = readonly [string, object]

/**
 * Events by type and members, numbered unless they have a number; those after a promise wait for
 * it.
 */
function saying(...events: readonly (Said | Promise<void>)[]): Reply {
  return async (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    let number = 0
    for (const one of events) {
      if (one instanceof Promise) {
        await one
        continue
      }
      const [type, members] = one
      const data = JSON.stringify({ type, sequence_number: number++, ...members })
      outgoing.write(`event: ${type}\ndata: ${data}\n\n`)
    }
    outgoing.end()
  }
}

const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
const pending = { response: aResponse({ status: 'in_progress', output: [], usage: null }) }
const BEGINNING = [
  ['response.created', pending],
  ['response.in_progress', pending],
  ['response.output_item.added', { output_index: 0, item }],
  ['response.content_part.added', { ...place, part }],
] as const
const delta = (text: string) =>
  ['response.output_text.delta', { ...place, delta: text, logprobs: [] }] as const
const ENDING = [
  ['response.output_text.done', { ...place, text: 'hello', logprobs: [] }],
  ['response.content_part.done', { ...place, part: { ...part, text: 'hello' } }],
  ['response.output_item.done', { output_index: 0, item: { ...item, status: 'completed' } }],
  ['response.completed', { response: aResponse() }],
] as const

interface Event {
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
  readonly [member: string]: any
}

async function streamed(asked: object, headCame = () => {}): Promise<Event[]> {
  const answer = await fetch(`${baseURL}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mine.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'own', input: 'hi', stream: true, ...asked }),
  })
  assert.equal(answer.status, 200)
  headCame()
  const frames = (await answer.text()).split('\n\n').filter((one) => one.startsWith('event: '))
  return frames.map((frame, index) => {
    const [, name, data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? assert.fail(frame)
    const one: Event = JSON.parse(data)
    assert.equal(one.type, name)
    assert.equal(one.sequence_number, index)
    return one
  })
}

async function refusal(asked: Promise<unknown>): Promise<APIError> {
  const error = await asked.then(
    () => assert.fail('It was not refused.'),
    (reason) => reason,
  )
  assert.ok(error instanceof APIError, String(error))
  return error
}

const tokens = async (kind: string, upstream = 'own', route = 'own') =>
  await front.value(`gw_tokens_total{route="${route}",upstream="${upstream}",kind="${kind}"}`)

test('a request passes unchanged, except for the model and the storage', async () => {
  const text = `{"model":"own", "input":"hi","unknown_member": {"a":[1.50]},"temperature":0.50}`
  const answer = await fetch(`${baseURL}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mine.key}`, 'content-type': 'application/json' },
    body: text,
  })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('x-gw-dropped-parameters'), null)
  assert.equal(own.asked[0]?.path, '/v1/responses')
  assert.deepEqual(own.asked[0]?.body, {
    store: false,
    model: 'served',
    input: 'hi',
    unknown_member: { a: [1.5] },
    temperature: 0.5,
  })
  const response = JSON.parse(await answer.text())
  assert.match(response.id, /^resp_[0-9a-f]{32}$/)
  assert.partialDeepStrictEqual(response, { ...aResponse(), id: response.id })
})

test('both helpers of the SDK read a passed-through stream, with one id from beginning to end', async () => {
  own.reply = saying(...BEGINNING, delta('hel'), delta('lo'), ...ENDING)
  const stream = client.responses.stream({ model: 'own', input: 'hi' })
  const final = await stream.finalResponse()
  assert.equal(final.output_text, 'hello')
  const events = await streamed({})
  const ids = new Set(events.flatMap(({ response }) => response?.id ?? []))
  assert.equal(ids.size, 1)
  assert.notEqual([...ids][0], 'resp_upstream')
  assert.equal(events.at(-1)?.type, 'response.completed')
  assert.equal(events.filter(({ type }) => type === 'response.created').length, 1)
})

test('the gateway waits for a slow upstream, and sends its events after its own', async () => {
  const head = Promise.withResolvers<void>()
  own.reply = saying(head.promise, ...BEGINNING, delta('hello'), ...ENDING)
  // The heartbeat sends the head.
  const events = await streamed({}, head.resolve)
  const types = events.map(({ type }) => type)
  assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress'])
  assert.equal(types.filter((type) => type === 'response.created').length, 1)
  assert.equal(types.at(-1), 'response.completed')
})

test('usage of whole, incomplete and failed responses is counted', async () => {
  const before = await tokens('prompt')
  await client.responses.create({ model: 'own', input: 'hi' })
  own.reply = saying(...BEGINNING, delta('hel'), [
    'response.incomplete',
    { response: aResponse({ status: 'incomplete' }) },
  ])
  assert.equal((await streamed({})).at(-1)?.type, 'response.incomplete')
  const error = { code: 'server_error', message: 'It broke.' }
  own.reply = answering({ status: 'failed', error })
  assert.equal((await refusal(client.responses.create({ model: 'own', input: 'hi' }))).status, 502)
  assert.equal(await tokens('prompt'), before + 21)
})

test('a stream that fails ends with both forms of the error, and its usage is counted', async () => {
  const before = await tokens('completion')
  const error = { code: 'server_error', message: 'It broke.' }
  const head = Promise.withResolvers<void>()
  own.reply = saying(
    ...BEGINNING,
    delta('hel'),
    head.promise,
    ['error', { ...error, param: null, error }],
    ['response.failed', { response: aResponse({ status: 'failed', error }) }],
  )
  const events = await streamed({}, head.resolve)
  assert.deepEqual(
    events.slice(-2).map(({ type }) => type),
    ['error', 'response.failed'],
  )
  assert.equal(events.at(-2)?.code, 'ERR_GW_STREAM_ABORTED')
  assert.equal(events.at(-2)?.error.code, 'ERR_GW_STREAM_ABORTED')
  assert.equal(await tokens('completion'), before + 3)
  const later = Promise.withResolvers<void>()
  own.reply = saying(...BEGINNING, delta('hel'), later.promise)
  assert.deepEqual(
    (await streamed({}, later.resolve)).slice(-2).map(({ type }) => type),
    ['error', 'response.failed'],
  )
})

test('an upstream with responses falls back to one with chat completions before the first content', async () => {
  own.reply = failing(500)
  chat.reply = streaming()
  const events = await streamed({ model: 'pair', unknown_member: 1 })
  assert.equal(events.at(-1)?.response.output[0].content[0].text, 'hello')
  assert.equal(chat.asked[0]?.path, '/v1/chat/completions')
  own.reply = saying(...BEGINNING, ['error', { code: 'server_error', message: 'It broke.' }])
  const again = await streamed({ model: 'pair' })
  assert.equal(again.at(-1)?.type, 'response.completed')
  assert.equal(again.filter(({ type }) => type === 'response.created').length, 1)
})

test('members without a counterpart in chat completions go to an upstream with responses, or are refused by name', async () => {
  const format = { type: 'grammar' as const, syntax: 'regex' as const, definition: 'a' }
  const asked = { input: 'hi', tools: [{ type: 'custom' as const, name: 'grep', format }] }
  await client.responses.create({ model: 'own', ...asked })
  assert.partialDeepStrictEqual(own.asked[0]?.body, { tools: asked.tools })
  own.reply = failing(500)
  const error = await refusal(client.responses.create({ model: 'pair', ...asked }))
  assert.equal(chat.asked.length, 0)
  assert.equal(error.status, 502)
})

test('tools that the upstream would run are removed and named', async () => {
  const fn = { type: 'function', name: 'f', parameters: {}, strict: false } as const
  const { response } = await client.responses
    .create({
      model: 'own',
      input: 'hi',
      tools: [fn, { type: 'web_search' }, { type: 'apply_patch' }],
    })
    .withResponse()
  assert.equal(response.headers.get('x-gw-dropped-parameters'), 'tools[1] (web_search)')
  const parameters = { type: 'object', properties: {} }
  assert.deepEqual(own.asked[0]?.body.tools, [{ ...fn, parameters }, { type: 'apply_patch' }])
})

test('no input item adds tools that the upstream would run, changes the settings or names a file', async () => {
  const search = { type: 'web_search' }
  const file = { type: 'input_image', file_id: 'file-1' }
  for (const [item, param] of [
    [{ type: 'additional_tools', tools: [search] }, 'input[0].tools'],
    [
      { type: 'tool_search_output', tools: [{ type: 'namespace', tools: [search] }] },
      'input[0].tools',
    ],
    [{ type: 'configuration_update', configuration: {} }, 'input[0].type'],
    [{ role: 'assistant', content: [file] }, 'input[0].content[0].file_id'],
  ] as const) {
    const asked = client.responses.create({ model: 'own', input: [item as never] })
    assert.equal((await refusal(asked)).param, param)
  }
  assert.equal(own.asked.length, 0)
  const tools = [{ type: 'function', name: 'f', parameters: {}, strict: false }]
  await client.responses.create({
    model: 'own',
    input: [{ type: 'additional_tools', tools } as never, { role: 'user', content: 'hi' }],
  })
  assert.partialDeepStrictEqual(own.asked[0]?.body, { input: [{ tools }, {}] })
})

test('sealed reasoning of another account is removed if the upstream cannot open it', async () => {
  const sealed = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
  const input = [
    { role: 'user', content: 'hi' },
    sealed,
    { role: 'user', content: 'go on' },
  ] as const
  own.script.push(failing(400, { code: 'invalid_encrypted_content' }))
  const answer = await client.responses.create({ model: 'own', input: input as never })
  assert.equal(answer.output_text, 'hello')
  assert.deepEqual(own.asked[0]?.body.input, input)
  assert.deepEqual(own.asked[1]?.body.input, [input[0], input[2]])
  await client.responses.create({ model: 'vllm', input: input as never })
  assert.deepEqual(other.asked[0]?.body.input, [input[0], input[2]])
})

test('members that a client must not set do not reach a runtime', async () => {
  await client.responses.create({
    model: 'vllm',
    input: 'hi',
    request_id: 'mine',
    priority: 1,
  } as never)
  assert.deepEqual(other.asked[0]?.body, { store: false, model: 'served', input: 'hi' })
  const named = await client.responses.create({
    model: 'vllm',
    input: 'hi',
    request_id: 'resp_of_somebody',
  } as never)
  assert.match((named as { id: string }).id, /^resp_[0-9a-f]{32}$/)
  const several = await refusal(
    client.responses.create({ model: 'vllm', input: 'hi', n: 2 } as never),
  )
  assert.deepEqual([several.status, several.param], [400, 'n'])
  assert.equal(other.asked.length, 2)
})

test('a runtime that ends its stream without a last event has failed, cleanly or not', async () => {
  const begun = [...BEGINNING, delta('hel')]
  const cut: Reply = async (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [type, members] of begun)
      outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`)
    // Node buffers chunks until the next tick.
    await new Promise(setImmediate)
    outgoing.socket?.destroySoon()
  }
  for (const reply of [cut, saying(...begun)]) {
    other.reply = reply
    const events = await streamed({ model: 'vllm' })
    assert.deepEqual(
      events.slice(-2).map(({ type }) => type),
      ['error', 'response.failed'],
    )
    assert.equal(events.at(-1)?.response.error.code, 'server_error')
  }
})

test('tool calls without numbers, positions and ends arrive complete in both helpers', async () => {
  const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'f' }
  const done = { ...call, arguments: '{"a":1}', status: 'completed' }
  const said = [
    [
      'response.created',
      { response: aResponse({ status: 'in_progress', output: [], usage: null }) },
    ],
    ['response.output_item.added', { item: { ...call, arguments: '', status: 'in_progress' } }],
    ['response.function_call_arguments.delta', { item_id: 'fc_1', delta: '{"a":1}' }],
    ['response.output_item.done', { item: done }],
    ['response.completed', { response: aResponse({ output: [done] }) }],
  ] as const
  other.reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [type, members] of said)
      outgoing.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`)
    outgoing.end()
  }
  const asked = { model: 'llamacpp', input: 'hi' }
  const final = await client.responses.stream(asked).finalResponse()
  assert.partialDeepStrictEqual(final.output, [{ name: 'f', arguments: '{"a":1}' }])
  for (const event of (await streamed(asked)).slice(1, -1)) assert.equal(event.output_index, 0)
})

test("while one account cools down, the other gets a history without the first one's sealed content", async () => {
  const sealed = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
  const input = [
    { role: 'user', content: 'hi' },
    sealed,
    { role: 'user', content: 'go on' },
  ] as never
  own.reply = failing(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '30' })
  other.script.push(failing(400, { code: 'invalid_encrypted_content' }))
  const first = await client.responses.create({ model: 'cooled', input }).withResponse()
  assert.equal(first.response.headers.get('x-gw-upstream'), 'other')
  assert.equal(own.asked.length, 1)
  assert.equal(first.data.output_text, 'hello')
  assert.equal(JSON.stringify(other.asked[1]?.body.input).includes('sealed'), false)
  other.script.push(failing(400, { code: 'invalid_encrypted_content' }))
  const second = await client.responses.create({ model: 'cooled', input }).withResponse()
  assert.equal(second.data.output_text, 'hello')
})

test('events without numbers and positions get them', async () => {
  const bare = (entries: readonly (readonly [string, object])[]) =>
    entries.map(
      ([type, members]) =>
        [
          type,
          {
            ...members,
            sequence_number: undefined,
            output_index: undefined,
            content_index: undefined,
          },
        ] as const,
    )
  other.reply = saying(...bare([...BEGINNING, delta('hello'), ...ENDING]))
  const events = await streamed({ model: 'vllm' })
  const [one] = events.filter(({ type }) => type === 'response.output_text.delta')
  assert.partialDeepStrictEqual(one, { output_index: 0, content_index: 0 })
  const stream = client.responses.stream({ model: 'vllm', input: 'hi' })
  assert.equal((await stream.finalResponse()).output_text, 'hello')
})

test('an upstream that turns out to lack responses gets chat completions, and the gateway remembers this', async () => {
  other.reply = (outgoing, asked) =>
    (asked.path === '/v1/responses' ? failing(404) : whole())(outgoing, asked)
  const first = await client.responses.create({ model: 'mistaken', input: 'hi' })
  assert.equal(first.output_text, 'hello')
  await client.responses.create({ model: 'mistaken', input: 'hi' })
  assert.deepEqual(
    other.asked.map(({ path }) => path),
    ['/v1/responses', '/v1/chat/completions', '/v1/chat/completions'],
  )
})
