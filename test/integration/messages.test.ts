/**
 * POST /v1/messages as Anthropic's own SDK sends it: translated for other models, passed through to
 * Anthropic's.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, beforeEach, test } from 'node:test'
import Anthropic, { APIError } from '@anthropic-ai/sdk'
import { listOf } from '../../dataplane/json/values.ts'
import { aKey } from '../helpers/a-key.ts'
import { callChunk, chunks } from '../helpers/chat-chunks.ts'
import {
  failing,
  type Reply,
  refusingUrl,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { sdkError } from '../helpers/sdk-error.ts'

const mine = aKey({ id: 'mine' })
const limited = aKey({ id: 'limited', tenant: 'limited' })
const spent = aKey({ id: 'spent', tenant: 'spent' })
const narrow = aKey({ id: 'narrow', tenant: 'narrow', routes: ['claude'] })
const [model, claude] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [
    { name: 'model', endpoint: model.url, context_window: 4000 },
    {
      name: 'gone',
      endpoint: await refusingUrl(),
      circuit_breaker: { failure_threshold: 1 },
    },
    { name: 'claude', provider: 'anthropic', endpoint: claude.url, model: 'claude-m' },
    { name: 'runtime', provider: 'vllm', endpoint: model.url, native: ['messages'] },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'model' },
    { name: 'claude', strategy: 'single', primary: 'claude' },
    { name: 'runtime', strategy: 'single', primary: 'runtime' },
    { name: 'gone', strategy: 'single', primary: 'gone' },
    { name: 'pair', strategy: 'primary_with_fallback', primary: 'claude', fallback: ['model'] },
  ],
  gateway: { sse: { heartbeat_seconds: 1 } },
  rate_limits: { tenants: [{ tenant: 'limited', requests_per_minute: 1, burst: 1 }] },
  budgets: [{ tenant: 'spent', tokens_per_day: 5 }],
  api_keys: [mine, limited, spent, narrow].map(({ record }) => record),
})
after(() => Promise.all([front.process.stop(), model.close(), claude.close()]))

const baseURL = front.process.url
const client = new Anthropic({ apiKey: mine.key, baseURL, maxRetries: 0 })
const question = {
  model: 'chat',
  max_tokens: 50,
  messages: [{ role: 'user' as const, content: 'hi' }],
}

beforeEach(() => {
  for (const upstream of [model, claude]) {
    upstream.asked.length = 0
    upstream.script.length = 0
    upstream.reply = whole()
  }
})

const refusal = (asked: Promise<unknown>) => sdkError<APIError>(asked, APIError)

test('a whole answer of another model arrives as a message', async () => {
  const message = await client.messages.create(question)
  assert.match(message.id, /^msg_/)
  assert.partialDeepStrictEqual(message, {
    type: 'message',
    role: 'assistant',
    model: 'chat',
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 0 },
  })
  assert.equal(model.asked[0]?.path, '/v1/chat/completions')
})

test('a conversation with tools, results and pictures is translated', async () => {
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' }
  await client.messages.create({
    ...question,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2' },
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
    ],
    tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    stop_sequences: ['END'],
    thinking: { type: 'enabled', budget_tokens: 2048 },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source },
          { type: 'text', text: 'What is it?' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And now?' },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'Dark.' },
              { type: 'image', source },
            ],
          },
        ],
      },
    ],
  })
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const parameters = { type: 'object' }
  assert.partialDeepStrictEqual(model.asked[0]?.body, {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [image, { type: 'text', text: 'What is it?' }] },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: Dark.' },
      { role: 'user', content: [image, { type: 'text', text: 'And now?' }] },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters } }],
    tool_choice: 'required',
    parallel_tool_calls: false,
    stop: ['END'],
    reasoning_effort: 'low',
  })
  assert.doesNotMatch(JSON.stringify(model.asked[0]?.body), /cache_control|signature|billing/)
})

test('reasoning, text, two parallel calls and more text become consecutive blocks', async () => {
  model.reply = chunks(
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
  const message = await client.messages.stream(question).finalMessage()
  assert.deepEqual(message.content, [
    { type: 'thinking', thinking: 'Hm.', signature: '' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'a', name: 'look', input: { a: 1 } },
    { type: 'tool_use', id: 'b', name: 'hear', input: { b: 2 } },
    { type: 'text', text: 'Done.' },
  ])
  assert.equal(message.stop_reason, 'tool_use')
  assert.partialDeepStrictEqual(message.usage, {
    input_tokens: 40,
    cache_read_input_tokens: 100,
    output_tokens: 9,
  })
})

test('a call without arguments has an empty input, and no empty text beside it', async () => {
  model.reply = chunks(
    { content: '' },
    callChunk(0, { name: 'look', arguments: '' }, 'a'),
    'tool_calls',
  )
  const { content } = await client.messages.stream(question).finalMessage()
  assert.deepEqual(content, [{ type: 'tool_use', id: 'a', name: 'look', input: {} }])
})

test('every frame is named, and pings fill the wait for a slow model', async () => {
  let speak = () => {}
  const hold = new Promise<void>((resolve) => {
    speak = resolve
  })
  model.reply = async (outgoing, asked) => {
    await hold
    await streaming()(outgoing, asked)
  }
  const names: string[] = []
  for await (const one of await rawStream()) {
    names.push(one)
    if (one === 'ping') speak()
  }
  const [first, ...others] = names.filter((name) => name !== 'ping')
  assert.equal(names[0], 'ping')
  assert.equal(first, 'message_start')
  assert.deepEqual(others, [
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
})

/** The names of the events, in order. */
async function rawStream(): Promise<AsyncIterable<string>> {
  const answer = await fetch(`${baseURL}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': mine.key, 'content-type': 'application/json' },
    body: JSON.stringify({ ...question, stream: true }),
  })
  assert.equal(answer.status, 200)
  assert.ok(answer.headers.get('request-id'))
  const text = (answer.body ?? assert.fail()).pipeThrough(new TextDecoderStream())
  return (async function* () {
    for await (const piece of text)
      for (const [, name = ''] of piece.matchAll(/^event: (.+)\ndata: \{"type":"\1"/gm)) yield name
  })()
}

test('a stream that is cut after its first words raises an error', async () => {
  model.reply = streaming({ end: 'cut' })
  const error = await refusal(client.messages.stream(question).finalMessage())
  // The text contains the code too, because clients show only the text of an event.
  assert.match(error.message, /ERR_GW_STREAM_ABORTED: /)
})

for (const headers of [{ 'x-api-key': mine.key }, { authorization: `Bearer ${mine.key}` }]) {
  test(`a key is read from ${Object.keys(headers)[0]}`, async () => {
    const answer = await fetch(`${baseURL}/v1/messages`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(question),
    })
    assert.equal(answer.status, 200)
  })
}

const as = (apiKey: string) => new Anthropic({ apiKey, baseURL, maxRetries: 0 }).messages
const REFUSALS = [
  [
    'no key',
    401,
    'authentication_error',
    'ERR_GW_AUTH_INVALID_KEY',
    () => as('gw_x').create(question),
  ],
  [
    'a route that the key may not use',
    403,
    'permission_error',
    'ERR_GW_AUTH_SCOPE_DENIED',
    () => as(narrow.key).create(question),
  ],
  [
    'an unknown model',
    404,
    'not_found_error',
    'ERR_GW_ROUTE_NOT_FOUND',
    () => client.messages.create({ ...question, model: 'x' }),
  ],
  [
    'no limit of the answer',
    400,
    'invalid_request_error',
    'ERR_GW_INVALID_REQUEST',
    () => client.messages.create({ ...question, max_tokens: undefined as never }),
  ],
  [
    'a tool that another model does not have',
    400,
    'invalid_request_error',
    'ERR_GW_INVALID_REQUEST',
    () =>
      client.messages.create({
        ...question,
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      }),
  ],
  [
    'an upstream that fails',
    502,
    'api_error',
    'ERR_GW_UPSTREAM_ERROR',
    () => {
      model.reply = failing(500)
      return client.messages.create(question)
    },
  ],
] as const

for (const [what, status, type, code, ask] of REFUSALS) {
  test(`${what}: ${status} in Anthropic's envelope`, async () => {
    const error = await refusal(ask())
    assert.equal(error.status, status)
    assert.partialDeepStrictEqual(error.error, {
      type: 'error',
      error: { type, details: { error_code: code } },
    })
    assert.ok(error.requestID)
  })
}

test("a reached rate: 429 with retry-after, and the limits under Anthropic's names", async () => {
  await as(limited.key).create(question)
  const { status, headers, error } = await refusal(as(limited.key).create(question))
  assert.equal(status, 429)
  assert.match(String(headers?.get('retry-after')), /^\d+$/)
  assert.equal(headers?.get('anthropic-ratelimit-requests-limit'), '1')
  assert.match(String(headers?.get('anthropic-ratelimit-requests-reset')), /^\d{4}-.*:\d\dZ$/)
  assert.equal(headers?.get('x-ratelimit-limit-requests'), null)
  assert.partialDeepStrictEqual(error, { error: { type: 'rate_limit_error' } })
})

test('a spent budget: 402 as a billing error, and tokens are still counted', async () => {
  await as(spent.key).create(question)
  const { status, error } = await refusal(as(spent.key).create(question))
  assert.equal(status, 402)
  assert.partialDeepStrictEqual(error, { error: { type: 'billing_error' } })
  const asked = { model: 'chat', messages: question.messages }
  assert.ok((await as(spent.key).countTokens(asked)).input_tokens > 0)
})

test('a prompt that is too long is refused in the words that clients look for', async () => {
  const messages = [{ role: 'user' as const, content: 'word '.repeat(5000) }]
  const { status, message } = await refusal(client.messages.create({ ...question, messages }))
  assert.equal(status, 400)
  assert.match(message, /prompt is too long: \d+ tokens > 4000 maximum/)
})

test('a limit with no room beside a prompt that fits is refused in words that do not ask to shorten it', async () => {
  const { status, message } = await refusal(
    client.messages.create({ ...question, max_tokens: 4000 }),
  )
  assert.equal(status, 400)
  assert.match(message, /input length and `max_tokens` exceed context limit: \d+ \+ 4000 > 4000,/)
  assert.doesNotMatch(message, /prompt is too long/)
})

test('no upstream left: 529, which clients of this API know', async () => {
  const ask = () => client.messages.create({ ...question, model: 'gone' })
  assert.equal((await refusal(ask())).status, 502)
  const { status, error } = await refusal(ask())
  assert.equal(status, 529)
  assert.partialDeepStrictEqual(error, {
    error: {
      type: 'overloaded_error',
      details: { error_code: 'ERR_GW_NO_HEALTHY_UPSTREAM' },
    },
  })
})

test('counting tokens counts as one request of the rate and costs no budget', async () => {
  const { input_tokens } = await client.messages.countTokens({
    model: 'chat',
    messages: [{ role: 'user', content: 'word '.repeat(400) }],
  })
  assert.ok(input_tokens > 300 && input_tokens < 700, String(input_tokens))
  assert.equal(model.asked.length, 0)
  const denied = await refusal(
    as(narrow.key).countTokens({ model: 'chat', messages: question.messages }),
  )
  assert.equal(denied.status, 403)
})

test('an upstream with the same API counts tokens itself, and the answer names the counter', async () => {
  const asked = { messages: question.messages, system: 'Be brief.' }
  const counting: Reply = (outgoing, { path }) => {
    const [status, answer] = path.endsWith('/count_tokens')
      ? [200, { input_tokens: 4321 }]
      : [404, { error: { message: 'Not here.' } }]
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }
  for (const [route, upstream, name] of [
    ['claude', claude, 'claude-m'],
    ['runtime', model, 'served'],
  ] as const) {
    upstream.reply = counting
    const { data, response } = await client.messages
      .countTokens({ model: route, ...asked })
      .withResponse()
    assert.equal(data.input_tokens, 4321)
    assert.equal(response.headers.get('x-gw-token-count'), 'upstream')
    assert.equal(upstream.asked[0]?.path, '/v1/messages/count_tokens')
    assert.deepEqual(upstream.asked[0]?.body, { model: name, ...asked })
  }
  const { response } = await client.messages.countTokens({ model: 'chat', ...asked }).withResponse()
  assert.equal(response.headers.get('x-gw-token-count'), 'estimated')
})

test('the gateway counts tokens if the upstream does not, and returns a fault of the request', async () => {
  const asked = { model: 'claude', messages: question.messages }
  for (const status of [500, 404, 404]) {
    claude.reply = failing(status)
    const { response } = await client.messages.countTokens(asked).withResponse()
    assert.equal(response.headers.get('x-gw-token-count'), 'estimated')
  }
  // It has answered that the path does not exist.
  assert.equal(claude.asked.length, 2)
  const fault = { type: 'invalid_request_error', message: 'messages: must not be empty' }
  model.reply = failing(400, fault)
  const error = await refusal(client.messages.countTokens({ ...asked, model: 'runtime' }))
  assert.equal(error.status, 400)
  assert.partialDeepStrictEqual(error.error, { error: { message: fault.message } })
})

test("Anthropic's own model gets the original bytes, and the headers of the wire", async () => {
  const file = new URL('../fixtures/providers/anthropic/chat/stream.sse', import.meta.url)
  const sse = readFileSync(file, 'utf8')
  claude.reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_up' })
    outgoing.end(sse)
  }
  const asked = {
    max_tokens: 0,
    context_management: { edits: [] },
    messages: [
      {
        role: 'user',
        content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }],
      },
    ],
    stream: true,
  }
  const answer = await fetch(`${baseURL}/v1/messages?beta=true`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${mine.key}`,
      'content-type': 'application/json',
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-2025,b-2026',
    },
    body: JSON.stringify({ model: 'claude', ...asked }),
  })
  assert.equal(await answer.text(), sse)
  assert.equal(answer.headers.get('x-gw-upstream-request-id'), 'req_up')
  const [heard] = claude.asked
  assert.deepEqual(heard?.body, { model: 'claude-m', ...asked })
  assert.partialDeepStrictEqual(heard?.headers, {
    'x-api-key': 'upstream-credential',
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'a-2025,b-2026',
  })
  assert.equal(heard?.headers.authorization, undefined)
})

test("thinking of another model is not sent to Anthropic's", async () => {
  claude.reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(
      JSON.stringify({
        type: 'message',
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    )
  }
  await client.messages.create({
    ...question,
    model: 'claude',
    messages: [
      ...question.messages,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: '' },
          { type: 'text', text: 'Yes.' },
        ],
      },
      ...question.messages,
    ],
  })
  const [, answered] = listOf(claude.asked[0]?.body.messages)
  assert.deepEqual(answered, {
    role: 'assistant',
    content: [{ type: 'text', text: 'Yes.' }],
  })
})

test('a message that Anthropic cannot accept is translated for the next model', async () => {
  claude.reply = failing(529)
  const message = await client.messages.create({ ...question, model: 'pair' })
  assert.deepEqual(message.content, [{ type: 'text', text: 'hello' }])
})

test('the SDK lists the models and finds one; a missing model is refused in its envelope', async () => {
  const listed = await Array.fromAsync(await client.models.list())
  assert.deepEqual(
    listed.map(({ id }) => id),
    ['chat', 'claude', 'runtime', 'gone', 'pair'],
  )
  const one = await client.models.retrieve('chat')
  assert.partialDeepStrictEqual(one, { id: 'chat', type: 'model', max_input_tokens: 4000 })
  assert.ok(Date.parse(one.created_at) > Date.parse('2026-01-01'))
  const missing = await refusal(client.models.retrieve('nowhere'))
  assert.partialDeepStrictEqual(missing.error, { error: { type: 'not_found_error' } })
})

test("the answer to an unknown path lists the known ones, in the client's envelope", async () => {
  const error = await refusal(client.messages.batches.list().then(String))
  assert.equal(error.status, 404)
  assert.match(
    error.message,
    /Did you mean POST \/v1\/messages\? GET .* is not offered by this gateway; it offers POST .*\/v1\/messages/,
  )
  assert.partialDeepStrictEqual(error.error, { type: 'error' })
})

for (const [method, path, status] of [
  ['GET', '/v1/messages', 405],
  ['PUT', '/v1/messages?beta=true', 405],
  ['DELETE', '/v1/messages/count_tokens', 405],
  ['POST', '/v1/messages/batches', 404],
] as const) {
  test(`${method} ${path} is refused in Anthropic's envelope, for any headers of the client`, async () => {
    const answer = await fetch(baseURL + path, { method, headers: { 'x-api-key': mine.key } })
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'))
    assert.partialDeepStrictEqual(await answer.json(), { type: 'error', error: {} })
  })
}
