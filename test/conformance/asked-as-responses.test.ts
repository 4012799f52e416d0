/**
 * New models of OpenAI accept functions with an effort only as responses: chat and messages are sent and answered that
 * way.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequest } from '../../dataplane/body/request.ts'
import type { ModelRequest } from '../../dataplane/wire/inner-form.ts'
import type { WireReader } from '../../dataplane/wire/provider.ts'
import { wireOf } from '../helpers/conversations/asked.ts'
import { refusalOf, sentBy } from '../helpers/providers/sent-by.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
type Json = any

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const TOOL = { type: 'function', function: { name: 'get_weather', parameters: SCHEMA } }
const OF_MESSAGES = {
  tools: [{ name: 'get_weather', input_schema: SCHEMA }],
  output_config: { effort: 'low' },
}
const OF_CHAT = { tools: [TOOL], reasoning_effort: 'low' }
const PROVIDERS = ['openai', 'azure_openai'] as const

for (const provider of PROVIDERS) {
  const pathOf = (model: string, members: object) =>
    sentBy({ api: 'chat', provider, model }, members).path.replace(/\?.*/, '')

  test(`${provider}: GPT-5.4 gets a request for a response if there are functions and an effort`, () => {
    const responses = '/v1/responses'
    assert.equal(pathOf('gpt-5.4', OF_CHAT), responses)
    assert.equal(pathOf('gpt-5.4-mini', OF_CHAT), responses)
    assert.notEqual(pathOf('gpt-5.4', { tools: [TOOL] }), responses)
    assert.notEqual(pathOf('gpt-5.4', { ...OF_CHAT, reasoning_effort: 'none' }), responses)
    assert.notEqual(pathOf('gpt-5.4', { reasoning_effort: 'low' }), responses)
    assert.notEqual(pathOf('gpt-5.1', OF_CHAT), responses)
  })

  test(`${provider}: a limit that GPT-5 and later refuse under this name moves to the other member`, () => {
    for (const model of ['gpt-5.6', 'gpt-5.1-mini', 'o4-mini']) {
      const { body, complaints } = sentBy({ api: 'chat', provider, model }, { max_tokens: 9 })
      assert.deepEqual(complaints, [])
      assert.deepEqual([body.max_completion_tokens, body.max_tokens], [9, undefined])
    }
    const { body } = sentBy({ api: 'chat', provider, model: 'gpt-4.1' }, { max_tokens: 9 })
    assert.equal(body.max_tokens, 9)
  })

  test(`${provider}: sampling is left out and named for models that reason`, () => {
    const sampled = { temperature: 0, top_p: 0.5 }
    for (const [model, members] of [
      ['gpt-5', {}],
      ['o4-mini', {}],
      ['gpt-5.6', {}],
      ['gpt-5.1', { reasoning_effort: 'low' }],
      ['gpt-5.6', OF_CHAT],
    ] as const) {
      const way = { api: 'chat' as const, provider, model }
      const { body, named, complaints } = sentBy(way, { ...members, ...sampled })
      assert.deepEqual(complaints, [])
      assert.deepEqual([body.temperature, body.top_p], [undefined, undefined])
      assert.deepEqual(named.toSorted(), ['temperature', 'top_p'])
    }
    for (const [model, members] of [
      ['gpt-4.1', {}],
      ['gpt-5.6', { reasoning_effort: 'none' }],
    ] as const) {
      const way = { api: 'chat' as const, provider, model }
      assert.equal(sentBy(way, { ...members, ...sampled }).body.top_p, 0.5)
    }
  })

  test(`${provider}: GPT-5.6 gets a request for a response even without an effort`, () => {
    const responses = '/v1/responses'
    for (const model of ['gpt-5.6', 'gpt-5.6-terra']) {
      assert.equal(pathOf(model, { tools: [TOOL] }), responses)
      assert.notEqual(pathOf(model, { tools: [TOOL], reasoning_effort: 'none' }), responses)
    }
  })

  for (const [api, asked] of [
    ['chat', OF_CHAT],
    ['messages', OF_MESSAGES],
  ] as const)
    test(`${provider}: a request of ${api} is a response that nothing keeps`, () => {
      const settings =
        provider === 'azure_openai' ? { deployment: 'd', apiVersion: '2026-01-01' } : {}
      const way = { api, provider, model: 'gpt-5.4', settings }
      const { body, path, complaints, named } = sentBy(way, { ...asked, max_tokens: 100 })
      assert.equal(
        path,
        provider === 'openai' ? '/v1/responses' : '/v1/responses?api-version=2026-01-01',
      )
      assert.deepEqual(body, {
        model: provider === 'openai' ? 'gpt-5.4' : 'd',
        input: [{ type: 'message', role: 'user', content: 'Hi' }],
        tools: [{ type: 'function', name: 'get_weather', parameters: SCHEMA, strict: false }],
        max_output_tokens: 100,
        reasoning: { effort: 'low' },
        store: false,
      })
      assert.deepEqual([complaints, named], [[], []])
    })
}

test('messages, pictures, calls, results, choices and formats are translated', () => {
  const url = 'data:image/png;base64,AAAA'
  const call = {
    id: 'call_0',
    type: 'function',
    function: { name: 'get_weather', arguments: '{}' },
  }
  const picture = { type: 'image_url', image_url: { url, detail: 'low' } }
  const { body, complaints } = sentBy(
    { api: 'chat', provider: 'openai', model: 'gpt-5.6' },
    {
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }, picture] },
        { role: 'assistant', content: 'I look.', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_0', content: [{ type: 'text', text: 'ok' }, picture] },
      ],
      tools: [{ ...TOOL, function: { name: 'get_weather', strict: true } }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
      verbosity: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: SCHEMA, strict: true },
      },
      max_completion_tokens: 4,
      user: 'u'.repeat(100),
      stream: true,
    },
  )
  const image = { type: 'input_image', image_url: url, detail: 'low' }
  assert.deepEqual(body.input, [
    { type: 'message', role: 'developer', content: 'Be brief.' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }, image] },
    { type: 'message', role: 'assistant', content: 'I look.' },
    { type: 'function_call', call_id: 'call_0', name: 'get_weather', arguments: '{}' },
    {
      type: 'function_call_output',
      call_id: 'call_0',
      output: [{ type: 'input_text', text: 'ok' }, image],
    },
  ])
  assert.deepEqual(body.tool_choice, { type: 'function', name: 'get_weather' })
  assert.equal(body.tools[0].strict, true)
  assert.deepEqual(body.text, {
    format: { type: 'json_schema', name: 'a', schema: SCHEMA, strict: true },
    verbosity: 'low',
  })
  assert.deepEqual(
    [body.max_output_tokens, body.parallel_tool_calls, body.stream, body.user.length],
    [16, false, true, 64],
  )
  assert.deepEqual(complaints, [])
})

test('several choices and stops, which responses do not support, are refused by name', () => {
  const way = { api: 'chat', provider: 'openai', model: 'gpt-5.6' } as const
  assert.equal(refusalOf(way, { ...OF_CHAT, n: 2 }), 'n')
  assert.equal(refusalOf(way, { ...OF_CHAT, stop: ['x'] }), 'stop')
})

const OUTPUT = [
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
  { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' },
]
const USAGE = {
  input_tokens: 9,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 14,
}
const RESPONSE = { id: 'resp_1', object: 'response', model: 'gpt-5.6', status: 'completed' }
const ORIGIN = { model: 'gpt-5.6', id: 'req-1', isDetour: true }

function asked(api: 'chat' | 'messages', stream = false) {
  const { client, pair } = wireOf(api, 'openai', 'tenant')
  const members = api === 'chat' ? OF_CHAT : { ...OF_MESSAGES, max_tokens: 100 }
  const hi = [{ role: 'user', content: 'Hi' }]
  const options = api === 'chat' && stream && { stream_options: { include_usage: true } }
  const text = JSON.stringify({ model: 'route', messages: hi, ...members, stream, ...options })
  const request = parseRequest(Buffer.from(text), client.dialect.reading, 1) as ModelRequest
  return { pair, request }
}

function whole(api: 'chat' | 'messages', members: object): { answer: Json; usage: Json } {
  const { pair, request } = asked(api)
  const body = Buffer.from(
    JSON.stringify({ ...RESPONSE, output: OUTPUT, usage: USAGE, ...members }),
  )
  const passed = pair.decode(body, request, ORIGIN)
  assert.equal(passed.kind, 'body')
  return passed.kind === 'body'
    ? { answer: JSON.parse(String(passed.body)), usage: passed.usage }
    : { answer: undefined, usage: undefined }
}

test('a whole response is a chat completion to its client, with calls, reasoning and usage', () => {
  const { answer, usage } = whole('chat', {})
  const [{ message, finish_reason: finish }] = answer.choices
  assert.deepEqual(
    [message.content, message.reasoning_content, finish],
    ['I look.', 'Hm.', 'tool_calls'],
  )
  assert.deepEqual(message.tool_calls[0].function, {
    name: 'get_weather',
    arguments: '{"city":"Oslo"}',
  })
  assert.deepEqual([usage.promptTokens, usage.cachedTokens, usage.reasoningTokens], [9, 4, 2])
  const cut = whole('chat', {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: OUTPUT.slice(0, 2),
  })
  assert.equal(cut.answer.choices[0].finish_reason, 'length')
})

test('a whole response is a message to its client', () => {
  const { answer } = whole('messages', {})
  assert.deepEqual(
    answer.content.map(({ type }: Json) => type),
    ['thinking', 'text', 'tool_use'],
  )
  assert.equal(answer.stop_reason, 'tool_use')
})

test('a response that failed is a failure', () => {
  const { pair, request } = asked('chat')
  const failed = { ...RESPONSE, status: 'failed', error: { code: 'server_error', message: 'No.' } }
  const passed = pair.decode(Buffer.from(JSON.stringify(failed)), request, ORIGIN)
  assert.equal(passed.kind === 'failure' && passed.failure.message, 'No.')
})

/** The events of a response; `isWhole`: a server sends its call at once. */
function events(isWhole: boolean): Json[] {
  const { arguments: text, ...call } = OUTPUT[2] as Json
  const pieces = isWhole ? [] : [text.slice(0, 5), text.slice(5)]
  return [
    { type: 'response.created', response: RESPONSE },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
    { type: 'response.output_text.delta', output_index: 0, delta: 'I look.' },
    { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
    ...pieces.map((delta) => ({
      type: 'response.function_call_arguments.delta',
      output_index: 1,
      delta,
    })),
    { type: 'response.output_item.done', output_index: 1, item: OUTPUT[2] },
    { type: 'response.completed', response: { ...RESPONSE, usage: USAGE } },
  ]
}

for (const isWhole of [true, false])
  test(`a stream of a response is one of a chat completion${isWhole ? ', also if its call comes whole' : ''}`, () => {
    const { pair, request } = asked('chat', true)
    const reader = pair.openStream(request, ORIGIN) as WireReader
    const meanings = events(isWhole).map((one) =>
      reader.read({ event: one.type, data: JSON.stringify(one) }),
    )
    const last = meanings.at(-1)
    const out = meanings.map((one) => one.out).join('') + reader.end(last?.usage)
    const chunks: Json[] = out
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)))
    const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta)
    const calls = deltas.flatMap(({ tool_calls: some = [] }) => some)
    assert.equal(deltas.map(({ content = '' }) => content).join(''), 'I look.')
    assert.deepEqual([calls[0].id, calls[0].function.name], ['call_1', 'get_weather'])
    assert.equal(calls.map((call: Json) => call.function.arguments).join(''), '{"city":"Oslo"}')
    assert.equal(
      chunks.findLast(({ choices }) => choices.length > 0).choices[0].finish_reason,
      'tool_calls',
    )
    assert.equal(chunks.at(-1).usage.prompt_tokens, 9)
    assert.deepEqual([last?.done, last?.finished, reader.facts.model], [true, true, 'gpt-5.6'])
    assert.deepEqual(reader.facts.finish_reasons, ['tool_calls'])
  })

test('a stream of chat completions of the same model passes unchanged', () => {
  const { pair, request } = asked('chat', true)
  const reader = pair.openStream(request, ORIGIN) as WireReader
  const delta = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] }
  const meaning = reader.read({
    event: '',
    data: JSON.stringify({ id: 'c', model: 'm', ...delta }),
  })
  assert.deepEqual([meaning.out, meaning.content], ['same', true])
})

test('a stream that fails, fails with the text of the response', () => {
  const { pair, request } = asked('messages', true)
  const reader = pair.openStream(request, ORIGIN) as WireReader
  const error = { code: 'rate_limit_exceeded', message: 'Slow down.' }
  const failed = { type: 'response.failed', response: { ...RESPONSE, status: 'failed', error } }
  reader.read({ event: 'response.created', data: JSON.stringify(events(true)[0]) })
  const { failure } = reader.read({ event: failed.type, data: JSON.stringify(failed) })
  assert.deepEqual([failure?.class, failure?.message], ['rate_limited', 'Slow down.'])
})
