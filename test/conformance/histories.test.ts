/** Histories that OpenAI's API accepts, at vendors that refuse empty messages and some orders of roles. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentBy } from '../helpers/providers/sent-by.ts'

const user = (content: unknown) => ({ role: 'user', content })
const model = (content: unknown) => ({ role: 'assistant', content })
const system = { role: 'system', content: 'In French.' }
const called = (result: unknown) => [
  user('a'),
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'now', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: result },
]

const HISTORIES: Readonly<Record<string, readonly object[]>> = {
  'an empty answer': [user('a'), model(''), user('b')],
  'an answer without content': [user('a'), model(null), user('b')],
  'an answer at the end': [user('a'), model('x')],
  'instructions alone': [system],
  'instructions at the end': [user('a'), system],
  'instructions behind an answer': [user('a'), model('x'), system, user('b')],
  'instructions behind the last answer': [user('a'), model('x'), system],
  'instructions behind a result': [...called('ok'), system],
  'an empty question': [user('a'), model('x'), user('')],
  'a blank question alone': [user(' ')],
  'an empty result': called(''),
  'a result without parts': called([]),
}
const TOOLS = [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }]
const MODELS = {
  anthropic: 'claude-opus-4-8',
  bedrock: 'us.anthropic.claude-opus-4-8-v1:0',
  gemini: 'gemini-3-pro-preview',
  mistral: 'mistral-large',
  cohere: 'command-a',
  ollama: 'qwen3',
} as const

for (const [provider, name] of Object.entries(MODELS))
  test(`${provider} accepts odd histories that are legal at OpenAI`, () => {
    for (const [title, messages] of Object.entries(HISTORIES)) {
      const way = { api: 'chat', provider: provider as keyof typeof MODELS, model: name } as const
      const tools = messages.some(({ role }: { role?: string }) => role === 'tool') && TOOLS
      const { complaints } = sentBy(way, { messages, ...(tools && { tools }) })
      assert.deepEqual(complaints, [], title)
    }
  })

test('instructions behind the last answer are what the model answers, and stand nowhere else', () => {
  const messages = [system, user('a'), model('x'), { role: 'developer', content: 'Go on.' }]
  const at = (provider: 'gemini' | 'mistral' | 'cohere') =>
    sentBy({ api: 'chat', provider, model: MODELS[provider] }, { messages }).body
  const { systemInstruction, contents } = at('gemini')
  assert.deepEqual(systemInstruction.parts, [{ text: 'In French.' }])
  assert.deepEqual(contents.at(-1), { role: 'user', parts: [{ text: 'Go on.' }] })
  for (const provider of ['mistral', 'cohere'] as const)
    assert.deepEqual(at(provider).messages, [
      system,
      user('a'),
      model('x'),
      { role: 'user', content: 'Go on.' },
    ])
})

for (const provider of ['vllm', 'sglang', 'llamacpp'] as const)
  test(`${provider}, which parses the arguments of calls, gets objects, and the answer names what was left out`, () => {
    const given = ['{"n":12345678901234567890}', '{"cut": "in the mid', '[1]', 'null', '']
    const calls = given.map((text, at) => ({
      id: `c${at}`,
      type: 'function',
      function: { name: 'now', arguments: text },
    }))
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
    const messages = [
      user('a'),
      { role: 'assistant', content: null, tool_calls: calls },
      ...results,
    ]
    const sent = sentBy({ api: 'chat', provider }, { messages, tools: TOOLS })
    const got = sent.body.messages[1].tool_calls.map((call: (typeof calls)[0]) => call.function)
    assert.deepEqual(
      got.map((one: { arguments: string }) => one.arguments),
      [given[0], '{}', '{}', '{}', ''],
    )
    assert.deepEqual(sent.complaints, [])
    assert.deepEqual(sent.named, ['tool_calls.function.arguments'])
  })

for (const provider of ['openai', 'vllm', 'bedrock', 'mistral', 'cohere'] as const)
  test(`${provider} accepts an answer of thinking alone from a client of Messages`, () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: '' }
    const messages = [user('a'), { role: 'assistant', content: [thinking] }, user('b')]
    assert.deepEqual(
      sentBy({ api: 'messages', provider, model: 'gpt-4.1' }, { messages }).complaints,
      [],
    )
  })

for (const provider of ['openai', 'vllm', 'mistral', 'cohere', 'ollama'] as const)
  test(`${provider} gets words between a call and its output behind the output`, () => {
    const call = { type: 'function_call', name: 'now', arguments: '{}' }
    const input = [
      user('a'),
      { ...call, call_id: 'c1' },
      user('Hurry.'),
      { ...call, call_id: 'c2' },
      { type: 'function_call_output', call_id: 'c1', output: 'ok' },
      { type: 'function_call_output', call_id: 'c2', output: 'ok' },
    ]
    const tools = [{ type: 'function', name: 'now', parameters: { type: 'object' } }]
    const { body, complaints } = sentBy({ api: 'responses', provider }, { input, tools })
    assert.deepEqual(complaints, [])
    assert.partialDeepStrictEqual(body.messages.at(-1), { role: 'user', content: 'Hurry.' })
  })
