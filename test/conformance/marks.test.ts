/** Cache marks, pictures in results, blank texts and grammars reach each vendor in its form, or are named. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf, sentBy } from '../helpers/providers/sent-by.ts'
import type { Vendor } from '../helpers/vendors/index.ts'

const MARK = { cache_control: { type: 'ephemeral' } }
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const SCHEMA = { type: 'object', properties: {} }
const CALL = { id: 'call_0', type: 'function', function: { name: 'f', arguments: '{}' } }
const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

/** A mark after a tool, the instructions, a question and a result. */
const MARKED = {
  chat: {
    tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA }, ...HOUR }],
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...HOUR }] },
      { role: 'user', content: [{ type: 'text', text: 'Hi', ...MARK }] },
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'call_0', content: 'ok', ...MARK },
    ],
  },
  messages: {
    tools: [{ name: 'f', input_schema: SCHEMA, ...HOUR }],
    system: [{ type: 'text', text: 'Be brief.', ...HOUR }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi', ...MARK }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'ok', ...MARK }],
      },
    ],
  },
}
const CLAUDE = 'us.anthropic.claude-opus-4-6-v1:0'
const POINT = { cachePoint: { type: 'default' } }
const HOUR_POINT = { cachePoint: { type: 'default', ttl: '1h' } }

test('marks of chat are cache_control at Anthropic, with their time', () => {
  const { body, complaints, named } = sentBy({ api: 'chat', provider: 'anthropic' }, MARKED.chat)
  assert.deepEqual(body.tools[0].cache_control, HOUR.cache_control)
  assert.deepEqual(body.system[0].cache_control, HOUR.cache_control)
  assert.deepEqual(body.messages[0].content[0].cache_control, MARK.cache_control)
  assert.deepEqual(body.messages[2].content[0].cache_control, MARK.cache_control)
  assert.deepEqual([complaints, named], [[], []])
})

for (const api of ['chat', 'messages'] as const) {
  test(`marks of ${api} become cache points after tools, instructions, texts and results at Bedrock`, () => {
    const way = { api, provider: 'bedrock', model: CLAUDE } as const
    const { body, complaints, named } = sentBy(way, MARKED[api])
    assert.deepEqual(body.toolConfig.tools[1], HOUR_POINT)
    assert.deepEqual(body.system[1], HOUR_POINT)
    assert.deepEqual(body.messages[0].content[1], POINT)
    assert.deepEqual(body.messages[2].content[1], POINT)
    assert.deepEqual([complaints, named], [[], []])
  })

  for (const provider of [
    ...['openai', 'azure_openai', 'triton', 'vllm', 'sglang', 'llamacpp', 'tgi'],
    ...['mistral', 'cohere', 'gemini', 'ollama'],
  ] as Vendor[])
    test(`marks of ${api} are left out and named at ${provider}`, () => {
      const { body, named } = sentBy({ api, provider, model: 'gpt-4.1' }, MARKED[api])
      assert.doesNotMatch(JSON.stringify(body), /cache_control/)
      assert.ok(named.includes('cache_control'), named.join())
    })
}

test('Claude at Bedrock keeps its marked tools if the client forbids calls; other models do not get them', () => {
  const asked = { ...MARKED.chat, messages: MARKED.chat.messages.slice(0, 2), tool_choice: 'none' }
  const sent = (model: string) => sentBy({ api: 'chat', provider: 'bedrock', model }, asked)
  const { body, complaints, named } = sent(CLAUDE)
  assert.deepEqual(body.toolConfig.tools[1], HOUR_POINT)
  assert.deepEqual(body.additionalModelRequestFields.tool_choice, { type: 'none' })
  assert.deepEqual([complaints, named], [[], []])
  assert.equal(sent('amazon.nova-pro-v1:0').body.toolConfig, undefined)
})

test('a service that hands marks on gets them', () => {
  const way = { api: 'chat', provider: 'openai', model: 'anthropic/claude-opus-4.6' } as const
  const { body, named } = sentBy(way, MARKED.chat)
  assert.deepEqual(body.messages[1], MARKED.chat.messages[1])
  assert.deepEqual(named, [])
})

test('LiteLLM marks a function, or a message', () => {
  const tool = { type: 'function', function: { name: 'f', parameters: SCHEMA, ...MARK } }
  const messages = [{ role: 'user', content: 'Hi', ...MARK }]
  const { body } = sentBy({ api: 'chat', provider: 'anthropic' }, { tools: [tool], messages })
  assert.deepEqual(body.tools[0].cache_control, MARK.cache_control)
  assert.deepEqual(body.messages[0].content[0], { type: 'text', text: 'Hi', ...MARK })
})

for (const provider of ['anthropic', 'bedrock'] as const)
  test(`${provider} gets at most four marks: after tools and instructions, and the last ones`, () => {
    const said = (text: string) => ({ role: 'user', content: [{ type: 'text', text, ...MARK }] })
    const { messages, tools } = MARKED.chat
    const many = [messages[0], ...['1', '2', '3', '4'].map(said)]
    const { body, complaints } = sentBy(
      { api: 'chat', provider, model: CLAUDE },
      { tools, messages: many },
    )
    const marks = JSON.stringify(body).match(/"cache_control"|"cachePoint"/g)
    assert.equal(marks?.length, 4)
    const content = body.messages[0].content
    assert.ok('cache_control' in content.at(-1) || 'cachePoint' in content.at(-1))
    assert.match(JSON.stringify(body.tools ?? body.toolConfig), /cache_control|cachePoint/)
    assert.deepEqual(complaints, [])
  })

const SHOWN = {
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: null, tool_calls: [CALL, { ...CALL, id: 'call_1' }] },
    { role: 'tool', tool_call_id: 'call_0', content: [{ type: 'text', text: 'ok' }, PICTURE] },
    { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
  ],
}

for (const provider of ['openai', 'azure_openai', 'mistral', 'tgi'] as const)
  test(`a picture in a result comes after the results at ${provider}`, () => {
    const { body, complaints } = sentBy({ api: 'chat', provider, model: 'gpt-4.1' }, SHOWN)
    const last = body.messages.at(-1)
    assert.deepEqual([last.role, last.content[0].type], ['user', 'image_url'])
    assert.deepEqual(complaints, [])
  })

test('a picture in a result reaches Gemini after the result', () => {
  const { body } = sentBy({ api: 'chat', provider: 'gemini', model: 'gemini-2.5-flash' }, SHOWN)
  const parts = body.contents.at(-1).parts
  assert.deepEqual(Object.keys(parts.at(-1)), ['inlineData'])
  assert.deepEqual(parts[0].functionResponse.response, { result: 'ok' })
})

test('Triton supports only texts: a picture is refused by name, in a question and in a result', () => {
  const asked = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, PICTURE] }] }
  assert.equal(refusalOf({ api: 'chat', provider: 'triton' }, asked), 'messages.0.content')
  assert.notEqual(refusalOf({ api: 'chat', provider: 'triton' }, SHOWN), undefined)
})

test('TGI supports no grammar with tools: it is refused by name, or tools that must not be called are removed', () => {
  const { tools } = MARKED.chat
  const format = { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } }
  const both = { tools, response_format: format }
  assert.equal(refusalOf({ api: 'chat', provider: 'tgi' }, both), 'response_format')
  const { body, complaints } = sentBy(
    { api: 'chat', provider: 'tgi' },
    { ...both, tool_choice: 'none' },
  )
  assert.deepEqual([body.tools, complaints], [undefined, []])
})

for (const provider of ['anthropic', 'bedrock'] as const)
  test(`${provider} gets no blank text: of a question, beside calls, in a result or of a tool`, () => {
    const { complaints } = sentBy(
      { api: 'chat', provider },
      {
        messages: [
          { role: 'system', content: ' ' },
          {
            role: 'user',
            content: [
              { type: 'text', text: ' \n' },
              { type: 'text', text: 'Hi' },
            ],
          },
          { role: 'assistant', content: ' ', tool_calls: [CALL] },
          {
            role: 'tool',
            tool_call_id: 'call_0',
            content: [
              { type: 'text', text: 'ok' },
              { type: 'text', text: ' ' },
            ],
          },
        ],
        tools: [
          { type: 'function', function: { name: 'f', description: ' ', parameters: SCHEMA } },
        ],
      },
    )
    assert.deepEqual(complaints, [])
  })
