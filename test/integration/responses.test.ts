/**
 * POST /v1/responses as OpenAI's own SDK sends it, with an upstream that speaks chat completions.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import { aKey } from '../helpers/a-key.ts'
import { callChunk, chunks } from '../helpers/chat-chunks.ts'
import {
  failing,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { sdkError } from '../helpers/sdk-error.ts'

const [mine, narrow] = [aKey({ id: 'mine' }), aKey({ id: 'narrow', routes: ['pair'] })]
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
  api_keys: [mine.record, narrow.record],
})
after(() => Promise.all([front.process.stop(), model.close(), spare.close()]))

const baseURL = `${front.process.url}/v1`
const client = new OpenAI({ apiKey: mine.key, baseURL, maxRetries: 0 })
const question = { model: 'chat', input: 'hi' }

beforeEach(() => {
  for (const upstream of [model, spare]) {
    upstream.asked.length = 0
    upstream.script.length = 0
    upstream.reply = whole()
  }
})

function calling(name: string, text: string): Reply {
  const calls = [{ id: 'call_1', type: 'function', function: { name, arguments: text } }]
  return (outgoing) => {
    const message = { role: 'assistant', content: null, tool_calls: calls }
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(
      JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
    )
  }
}

interface Event {
  readonly type: string
  readonly sequence_number: number
  // biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
  readonly [member: string]: any
}

/** All events of a stream, and whether it ended properly; `heard` is called with each event. */
async function events(asked: object, heard: (one: Event) => void = () => {}): Promise<Event[]> {
  const answer = await fetch(`${baseURL}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mine.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...question, ...asked, stream: true }),
  })
  assert.equal(answer.status, 200)
  const seen: Event[] = []
  let text = ''
  for await (const piece of (answer.body ?? assert.fail()).pipeThrough(new TextDecoderStream())) {
    text += piece
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames.filter((one) => !one.startsWith(':'))) {
      const [, name, data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? assert.fail(frame)
      const one: Event = JSON.parse(data)
      assert.equal(one.type, name)
      assert.equal(one.sequence_number, seen.length)
      seen.push(one)
      heard(one)
    }
  }
  return seen
}

const refusal = (asked: Promise<unknown>) => sdkError<APIError>(asked, APIError)

test('an input that only the upstream finds too long is refused by name', async () => {
  model.script.push(failing(400, { code: 'context_length_exceeded' }))
  const error = await sdkError(client.responses.create(question), APIError)
  assert.deepEqual(
    [error.status, error.code, error.param],
    [400, 'ERR_GW_CONTEXT_OVERFLOW', 'input'],
  )
})

test('a whole answer arrives as a response that is not stored', async () => {
  const response = await client.responses.create({
    ...question,
    instructions: 'Be brief.',
    max_output_tokens: 50,
    metadata: { a: 'b' },
  })
  assert.equal(response.output_text, 'hello')
  assert.match(response.id, /^resp_/)
  assert.partialDeepStrictEqual(response, {
    object: 'response',
    status: 'completed',
    model: 'chat',
    store: false,
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    error: null,
    usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
  })
  assert.partialDeepStrictEqual(model.asked[0], {
    path: '/v1/chat/completions',
    body: {
      max_completion_tokens: 50,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
    },
  })
  assert.equal('metadata' in (model.asked[0]?.body ?? {}), false)
})

test('two calls and their outputs are one message and two results, followed by pictures', async () => {
  const image = 'data:image/png;base64,AAAA'
  await client.responses.create({
    model: 'chat',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [],
        content: null as never,
        encrypted_content: 'x',
      },
      { type: 'message', role: 'assistant', content: 'I look.' } as never,
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '{"at":2}' },
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [
          { type: 'input_text', text: 'A cat.' },
          { type: 'input_image', image_url: image, detail: 'auto' },
        ],
      },
      { type: 'function_call_output', call_id: 'b', output: 'Dark.' },
    ],
    tools: [
      { type: 'function', name: 'look', parameters: { type: 'object' }, strict: null },
      { type: 'web_search' },
    ],
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } },
    reasoning: { effort: 'low', summary: 'auto' },
  })
  const made = (id: string, at: number) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: `{"at":${at}}` },
  })
  const { messages, tools, response_format, reasoning_effort } = model.asked[0]?.body ?? {}
  assert.deepEqual(messages, [
    { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
    { role: 'assistant', content: 'I look.', tool_calls: [made('a', 1), made('b', 2)] },
    { role: 'tool', tool_call_id: 'a', content: 'A cat.' },
    { role: 'tool', tool_call_id: 'b', content: 'Dark.' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: image, detail: 'auto' } }] },
  ])
  const parameters = { type: 'object', properties: {} }
  assert.deepEqual(tools, [
    { type: 'function', function: { name: 'look', parameters, strict: false } },
  ])
  const json_schema = { name: 'n', schema: { type: 'object' }, strict: true }
  assert.deepEqual(response_format, { type: 'json_schema', json_schema })
  assert.equal(reasoning_effort, 'low')
})

test('tools that only OpenAI runs are left out, and the answer names them', async () => {
  const { response } = await client.responses
    .create({ ...question, tools: [{ type: 'web_search' }], client_metadata: {} } as never)
    .withResponse()
  assert.equal(
    response.headers.get('x-gw-dropped-parameters'),
    'tools[0] (web_search), client_metadata',
  )
})

test('wishes of include that the answer does not grant are named', async () => {
  const wishes = ['reasoning.encrypted_content', 'message.output_text.logprobs'] as const
  const { response } = await client.responses
    .create({ ...question, include: [...wishes], prompt_cache_options: { mode: 'explicit' } })
    .withResponse()
  assert.equal(
    response.headers.get('x-gw-dropped-parameters'),
    'include[0] (reasoning.encrypted_content), prompt_cache_options',
  )
  assert.equal(model.asked[0]?.body.logprobs, true)
})

test('a stream goes from creation to completion, each event numbered', async () => {
  model.reply = chunks(
    { role: 'assistant', content: '' },
    { reasoning_content: 'Hm.' },
    { content: 'I ' },
    { content: 'look.' },
    callChunk(0, { name: 'look', arguments: '' }, 'a'),
    callChunk(1, { name: 'hear', arguments: '{"b"' }, 'b'),
    callChunk(0, { arguments: '{"a":1}' }),
    callChunk(1, { arguments: ':2}' }),
    { content: 'Done.' },
    'tool_calls',
  )
  const seen = await events({})
  const [first, second] = seen
  const last = seen.at(-1)
  assert.deepEqual([first?.type, second?.type], ['response.created', 'response.in_progress'])
  assert.equal(last?.type, 'response.completed')
  assert.equal(new Set(seen.flatMap((one) => one.response?.id ?? [])).size, 1)
  const done = seen.filter(({ type }) => type === 'response.output_item.done')
  assert.deepEqual(
    done.map(({ item }) => item),
    last?.response.output,
  )
  assert.deepEqual(
    done.map(({ output_index }) => output_index),
    [0, 1, 2, 3, 4],
  )
  assert.partialDeepStrictEqual(last?.response, {
    output: [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"a":1}' },
      { type: 'function_call', call_id: 'b', name: 'hear', arguments: '{"b":2}' },
      { type: 'message', content: [{ type: 'output_text', text: 'Done.' }] },
    ],
    usage: { input_tokens: 140, input_tokens_details: { cached_tokens: 100 }, output_tokens: 9 },
  })
})

test('the stream helper of the SDK reads it', async () => {
  model.reply = chunks(
    { content: 'hel' },
    { content: 'lo' },
    callChunk(0, { name: 'f', arguments: '{}' }, 'a'),
    'tool_calls',
  )
  const tools = [{ type: 'function' as const, name: 'f', parameters: {}, strict: false }]
  const response = await client.responses.stream({ ...question, tools }).finalResponse()
  assert.equal(response.output_text, 'hello')
  assert.equal(response.output[1]?.type, 'function_call')
})

test("custom tools and tools in a namespace are returned in the client's form", async () => {
  const tools = [
    { type: 'custom' as const, name: 'shell', description: 'Runs.' },
    {
      type: 'namespace' as const,
      name: 'mcp',
      description: 'Agents.',
      tools: [
        { type: 'function' as const, name: 'wait', parameters: { type: 'object' }, strict: false },
      ],
    },
  ]
  model.reply = calling('shell', '{"input":"ls"}')
  const custom = await client.responses.create({ ...question, tools })
  assert.partialDeepStrictEqual(custom.output[0], {
    type: 'custom_tool_call',
    name: 'shell',
    input: 'ls',
  })
  model.reply = calling('shell', '{"inp')
  const broken = await client.responses.create({ ...question, tools })
  assert.partialDeepStrictEqual(broken.output[0], { type: 'custom_tool_call', input: '{"inp' })
  model.reply = calling('mcp__wait', '{}')
  const spaced = await client.responses.create({ ...question, tools })
  assert.partialDeepStrictEqual(spaced.output[0], {
    type: 'function_call',
    name: 'wait',
    namespace: 'mcp',
  })
})

for (const [reason, why] of [
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
] as const) {
  test(`an answer that ends by ${reason} is incomplete, with its usage`, async () => {
    model.reply = chunks({ content: 'hel' }, reason)
    const last = (await events({})).at(-1)
    assert.equal(last?.type, 'response.incomplete')
    assert.partialDeepStrictEqual(last?.response, {
      status: 'incomplete',
      incomplete_details: { reason: why },
      usage: { output_tokens: 9 },
    })
  })
}

test('while a model is slow, the client gets events that keep the same response, even over a fallback', async () => {
  let speak = () => {}
  const hold = new Promise<void>((resolve) => {
    speak = resolve
  })
  model.reply = async (outgoing, asked) => {
    await hold
    await failing(500)(outgoing, asked)
  }
  spare.reply = chunks({ content: 'hello' }, 'stop')
  const seen = await events({ model: 'pair' }, ({ type }) => {
    if (type === 'keepalive') speak()
  })
  const types = seen.map(({ type }) => type)
  assert.deepEqual(types.slice(0, 3), ['response.created', 'response.in_progress', 'keepalive'])
  assert.equal(types.filter((type) => type === 'response.created').length, 1)
  assert.equal(types.at(-1), 'response.completed')
  assert.equal(new Set(seen.flatMap((one) => one.response?.id ?? [])).size, 1)
})

test('a stream that breaks ends with both forms of the error, a failed response and a proper end', async () => {
  model.reply = streaming({ end: 'cut' })
  const seen = await events({})
  const [error, failed] = seen.slice(-2)
  assert.equal(error?.type, 'error')
  assert.equal(error?.code, 'ERR_GW_STREAM_ABORTED')
  assert.equal(error?.error.code, 'ERR_GW_STREAM_ABORTED')
  assert.equal(failed?.type, 'response.failed')
  assert.match(failed?.response.error.message, /^ERR_GW_STREAM_ABORTED: /)
  await assert.rejects(client.responses.stream(question).finalResponse())
})

const REFUSED = [
  ['tool_choice', { tools: [{ type: 'web_search' }], tool_choice: 'required' }],
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['conversation', { conversation: 'conv_1' }],
  ['background', { background: true }],
  ['store', { store: true }],
  ['prompt', { prompt: { id: 'p' } }],
  ['truncation', { truncation: 'auto' }],
  ['seed', { seed: 1 }],
  ['input[0].type', { input: [{ type: 'item_reference', id: 'x' }] }],
  ['input[0].call_id', { input: [{ type: 'function_call_output', call_id: 'x', output: '' }] }],
  ['input', { input: [{ type: 'function_call', call_id: 'x', name: 'f', arguments: '{}' }] }],
  [
    'input[0].content[0].file_id',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
  ],
  [
    'tool_choice',
    {
      tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: {} }],
      tool_choice: { type: 'web_search' },
    },
  ],
] as const

for (const [param, fields] of REFUSED) {
  test(`${param} is refused by name, and no upstream is asked`, async () => {
    const error = await refusal(client.responses.create({ ...question, ...fields } as never))
    assert.equal(error.status, 400)
    assert.equal(error.param, param)
    assert.equal(model.asked.length, 0)
  })
}

test('an item given by id is refused, naming the setting that makes SDKs send it in full', async () => {
  const input = [{ type: 'item_reference', id: 'msg_1' }]
  const error = await refusal(client.responses.create({ ...question, input } as never))
  assert.match(error.message, /send the items themselves.*"store": false/)
})

test('store: false and an omitted store are served', async () => {
  for (const asked of [question, { ...question, store: false }])
    assert.partialDeepStrictEqual(await client.responses.create(asked), { store: false })
})

test('an unknown response id gets a 404 with the reason', async () => {
  const error = await refusal(client.responses.retrieve('resp_1'))
  assert.equal(error.status, 404)
  assert.match(error.message, /does not store responses/)
})

test('input tokens are counted without a request to an upstream', async () => {
  const { input_tokens } = await client.responses.inputTokens.count(question)
  assert.ok(input_tokens >= 4 && input_tokens < 20, String(input_tokens))
  assert.equal(model.asked.length, 0)
})

test('a key without the route reads 403', async () => {
  const asked = new OpenAI({ apiKey: narrow.key, baseURL, maxRetries: 0 }).responses.create(
    question,
  )
  assert.equal((await refusal(asked)).status, 403)
})
