/** Where the gateway adds cache marks for clients that set none, over each API of clients. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentBy } from '../helpers/providers/sent-by.ts'

// biome-ignore lint/suspicious/noExplicitAny: read like a vendor reads it.
type Json = any
type Api = 'chat' | 'messages' | 'responses'

const SCHEMA = { type: 'object', properties: {} }
const EPHEMERAL = { type: 'ephemeral' }
const POINT = { cachePoint: { type: 'default' } }
const CLAUDE = 'claude-sonnet-4-5'
const ON_BEDROCK = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'

/** About this number of tokens. */
const words = (tokens: number) => 'word'.repeat(tokens)

/** An agent's third request: a question and two rounds of one tool. */
function anAgent(api: Api, { tool = 1_100, system = 100 } = {}): Json {
  const description = words(tool)
  const names = ['first', 'second']
  const args = '{}'
  if (api === 'chat') {
    const call = (id: string) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'first', arguments: args } }],
    })
    return {
      tools: names.map((name) => ({
        type: 'function',
        function: { name, description, parameters: SCHEMA },
      })),
      messages: [
        { role: 'system', content: words(system) },
        { role: 'user', content: 'Begin.' },
        call('call_0'),
        { role: 'tool', tool_call_id: 'call_0', content: 'zero' },
        call('call_1'),
        { role: 'tool', tool_call_id: 'call_1', content: 'one' },
      ],
    }
  }
  if (api === 'responses')
    return {
      tools: names.map((name) => ({ type: 'function', name, description, parameters: SCHEMA })),
      instructions: words(system),
      input: [
        { role: 'user', content: 'Begin.' },
        { type: 'function_call', call_id: 'call_0', name: 'first', arguments: args },
        { type: 'function_call_output', call_id: 'call_0', output: 'zero' },
        { type: 'function_call', call_id: 'call_1', name: 'first', arguments: args },
        { type: 'function_call_output', call_id: 'call_1', output: 'one' },
      ],
    }
  const call = (id: string) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 'first', input: {} }],
  })
  const result = (id: string, content: string) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content }],
  })
  return {
    tools: names.map((name) => ({ name, description, input_schema: SCHEMA })),
    system: words(system),
    messages: [
      { role: 'user', content: 'Begin.' },
      call('call_0'),
      result('call_0', 'zero'),
      call('call_1'),
      result('call_1', 'one'),
    ],
  }
}

const MARKED = { facts: { isAutoMarked: true } } as const

function marksIn(body: Json): number {
  return JSON.stringify(body).match(/"cache_control"|"cachePoint"/g)?.length ?? 0
}

for (const api of ['chat', 'messages', 'responses'] as const) {
  test(`a request of ${api} gets marks at Anthropic: after the tools, the instructions, and the last two turns`, () => {
    const way = { api, provider: 'anthropic', model: CLAUDE, ...MARKED } as const
    const { body, complaints, named } = sentBy(way, anAgent(api))
    assert.deepEqual(body.tools[1].cache_control, EPHEMERAL)
    assert.deepEqual(body.system.at(-1).cache_control, EPHEMERAL)
    const ends = body.messages.map(({ content }: Json) => content.at?.(-1).cache_control)
    assert.deepEqual(ends, [undefined, undefined, EPHEMERAL, undefined, EPHEMERAL])
    assert.equal(marksIn(body), 4)
    assert.deepEqual([complaints, named], [[], []])
  })

  test(`a request of ${api} gets the same points at Bedrock`, () => {
    const way = { api, provider: 'bedrock', model: ON_BEDROCK, ...MARKED } as const
    const { body, complaints, named } = sentBy(way, anAgent(api))
    assert.deepEqual(body.toolConfig.tools[2], POINT)
    assert.deepEqual(body.system[1], POINT)
    const points = body.messages.map(({ content }: Json) => content.length === 2 && content[1])
    assert.deepEqual(points, [false, false, POINT, false, POINT])
    assert.equal(marksIn(body), 4)
    assert.deepEqual([complaints, named], [[], []])
  })

  test(`a request of ${api} in which the client set a mark gets no other`, () => {
    const asked = anAgent(api)
    const ofOpenAi = { prompt_cache_breakpoint: { mode: 'explicit' } }
    for (const mark of [{ cache_control: EPHEMERAL }, ...(api === 'messages' ? [] : [ofOpenAi])]) {
      const members =
        api === 'responses'
          ? { ...asked, input: [marked('input_text', mark), ...asked.input.slice(1)] }
          : { ...asked, messages: asked.messages.map(beginMarked(mark)) }
      for (const [provider, model] of [
        ['anthropic', CLAUDE],
        ['bedrock', ON_BEDROCK],
      ] as const) {
        const { body } = sentBy({ api, provider, model, ...MARKED }, members)
        const plain = sentBy({ api, provider, model }, members)
        assert.deepEqual(body, plain.body)
      }
    }
  })
}

function marked(type: string, mark: Json): Json {
  return { role: 'user', content: [{ type, text: 'Begin.', ...mark }] }
}

function beginMarked(mark: Json) {
  return (message: Json) => (message.content === 'Begin.' ? marked('text', mark) : message)
}

test('a tool with a property of that name is not a mark', () => {
  const asked = anAgent('chat')
  asked.tools[0].function.parameters = {
    type: 'object',
    properties: { cache_control: { type: 'string' } },
  }
  const way = { api: 'chat', provider: 'anthropic', model: CLAUDE, ...MARKED } as const
  assert.deepEqual(sentBy(way, asked).body.tools[1].cache_control, EPHEMERAL)
})

test('a request in which the client asked for caching as a whole gets no marks', () => {
  for (const [provider, model] of [
    ['anthropic', CLAUDE],
    ['bedrock', ON_BEDROCK],
  ] as const) {
    const asked = { ...anAgent('messages'), cache_control: EPHEMERAL }
    const { body } = sentBy({ api: 'messages', provider, model, ...MARKED }, asked)
    assert.equal(marksIn({ ...body, cache_control: undefined }), 0)
  }
})

const SIZES = [
  { model: 'claude-opus-5', from: 512 },
  { model: 'claude-sonnet-4-6', from: 1_024 },
  { model: 'claude-opus-4-8', from: 1_024 },
  { model: 'claude-opus-4-20250514', from: 1_024 },
  { model: 'claude-opus-4-7', from: 2_048 },
  { model: 'claude-3-5-haiku-20241022', from: 2_048 },
  { model: 'claude-opus-4-6', from: 4_096 },
  { model: 'claude-haiku-4-5', from: 4_096 },
  { model: 'claude-unheard-of', from: 4_096 },
]
for (const { model, from } of SIZES)
  test(`${model} gets a mark from ${from} tokens on, and no mark below`, () => {
    const way = { api: 'chat', provider: 'anthropic', model, ...MARKED } as const
    const of = (tokens: number) => ({ messages: [{ role: 'user', content: words(tokens) }] })
    assert.equal(marksIn(sentBy(way, of(from - 20)).body), 0)
    assert.equal(marksIn(sentBy(way, of(from + 20)).body), 1)
  })

test('a model without a cache gets no marks', () => {
  for (const [provider, model] of [
    ['anthropic', 'claude-2.1'],
    ['bedrock', 'anthropic.claude-3-haiku-20240307-v1:0'],
    ['bedrock', 'us.meta.llama3-3-70b-instruct-v1:0'],
    ['bedrock', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/abc'],
  ] as const) {
    const { body } = sentBy({ api: 'chat', provider, model, ...MARKED }, anAgent('chat'))
    assert.equal(marksIn(body), 0, model)
  }
})

test('a Nova gets none after tools, and none above its maximum', () => {
  const model = 'us.amazon.nova-pro-v1:0'
  const way = { api: 'chat', provider: 'bedrock', model, ...MARKED } as const
  const { body, complaints } = sentBy(way, anAgent('chat'))
  assert.equal(marksIn(body.toolConfig), 0)
  assert.equal(marksIn(body), 3)
  assert.deepEqual(complaints, [])
  const long = anAgent('chat')
  long.messages.push(
    { role: 'assistant', content: words(20_000) },
    { role: 'user', content: 'On.' },
  )
  const { messages } = sentBy(way, long).body
  assert.deepEqual(messages.map(marksIn), [0, 0, 1, 0, 1, 0, 0])
})

test('a passing body keeps the text of its numbers', () => {
  const asked = anAgent('messages')
  const odd = '12345678901234567890'
  // TypeScript does not declare the method yet.
  asked.messages[1].content[0].input = { id: (JSON as Json).rawJSON(odd) }
  const way = { api: 'messages', provider: 'anthropic', model: CLAUDE, ...MARKED } as const
  const { text, body } = sentBy(way, asked)
  assert.equal(marksIn(body), 4)
  assert.match(text, new RegExp(`"id":${odd}`))
})

test('without the setting a body passes unchanged', () => {
  const way = { api: 'messages', provider: 'anthropic', model: 'route' } as const
  const { messages, ...rest } = anAgent('messages')
  const asked = { model: 'route', max_tokens: 8192, messages, ...rest }
  assert.equal(sentBy(way, asked).text, JSON.stringify(asked))
})

test('no block that does not support a mark gets one', () => {
  const asked = anAgent('messages')
  asked.tools[1].defer_loading = true
  asked.system = [
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: ' ' },
  ]
  asked.messages[4].content.push({ type: 'container_upload', file_id: 'file_1' })
  const way = { api: 'messages', provider: 'anthropic', model: CLAUDE, ...MARKED } as const
  const { body } = sentBy(way, asked)
  assert.deepEqual(body.tools.map(marksIn), [1, 0])
  assert.deepEqual(body.system.map(marksIn), [1, 0])
  assert.deepEqual(body.messages[4].content.map(marksIn), [1, 0])
})
