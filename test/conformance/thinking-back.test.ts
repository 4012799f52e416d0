/** Thinking that a client sends back reaches the upstream under its own name, or a header names it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf, sentBy } from '../helpers/providers/sent-by.ts'

const TOOL = {
  type: 'function',
  function: { name: 'read_file', parameters: { type: 'object', properties: {} } },
}
const CALL = { id: 'call_0', type: 'function', function: { name: 'read_file', arguments: '{}' } }

/** One turn with thinking and a call, and its result, as clients of each API write them. */
const TURNS = {
  chat: {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, reasoning_content: 'I look.', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'call_0', content: 'ok' },
    ],
    tools: [TOOL],
  },
  messages: {
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I look.', signature: '' },
          { type: 'tool_use', id: 'call_0', name: 'read_file', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'ok' }] },
    ],
  },
  responses: {
    input: [
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'call_0', name: 'read_file', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_0', output: 'ok' },
    ],
  },
} as const
const APIS = ['chat', 'messages', 'responses'] as const
/** The member of a message. */
const NAMES = {
  vllm: 'reasoning',
  sglang: 'reasoning_content',
  llamacpp: 'reasoning_content',
  ollama: 'thinking',
} as const
const ALL = ['reasoning', 'reasoning_content', 'thinking', 'thinking_blocks']

for (const api of APIS) {
  for (const [provider, name] of Object.entries(NAMES)) {
    test(`unsigned thinking of ${api} goes back to ${provider} as ${name}`, () => {
      const { body, complaints } = sentBy({ api, provider: provider as 'vllm' }, TURNS[api])
      const answer = body.messages.find(({ role }: { role: string }) => role === 'assistant')
      assert.deepEqual(
        ALL.filter((one) => one in answer),
        [name],
      )
      assert.equal(answer[name], 'I look.')
      assert.deepEqual(complaints, [])
    })
  }

  for (const provider of ['openai', 'azure_openai', 'triton', 'tgi'] as const) {
    test(`${provider} does not get the thinking of ${api}, which is named`, () => {
      const { body, named } = sentBy({ api, provider, model: 'gpt-4.1' }, TURNS[api])
      assert.doesNotMatch(JSON.stringify(body), /I look/)
      assert.ok(named.includes('reasoning_content'), named.join())
    })
  }

  for (const model of ['deepseek-reasoner', 'kimi-k2-thinking'])
    test(`${model} behind provider openai gets the thinking of ${api} back`, () => {
      const { body } = sentBy({ api, provider: 'openai', model }, TURNS[api])
      assert.equal(body.messages[1].reasoning_content, 'I look.')
    })
}

test('Groq gets it under its own name, and not with a model that does not reason', () => {
  const of = (model: string) => sentBy({ api: 'chat', provider: 'openai', model }, TURNS.chat)
  assert.equal(of('openai/gpt-oss-120b').body.messages[1].reasoning, 'I look.')
  const plain = of('llama-3.3-70b-versatile')
  assert.ok(!('reasoning_content' in plain.body.messages[1]))
  assert.deepEqual(plain.named, ['reasoning_content'])
})

test('a client may write `reasoning`, which is the same', () => {
  const { messages } = TURNS.chat
  const renamed = messages.map((one) => {
    if (!('reasoning_content' in one)) return one
    const { reasoning_content: reasoning, ...rest } = one
    return { ...rest, reasoning }
  })
  const { body } = sentBy({ api: 'chat', provider: 'sglang' }, { messages: renamed })
  assert.equal(body.messages[1].reasoning_content, 'I look.')
})

test('signed thinking goes to no other model, and sealed thinking has no text', () => {
  const signed = structuredClone(TURNS.messages) as unknown as { messages: { content: object[] }[] }
  Object.assign(signed.messages[1]?.content[0] ?? {}, { signature: 'c2ln' })
  assert.doesNotMatch(JSON.stringify(sentBy({ api: 'messages', provider: 'vllm' }, signed)), /look/)
  const sealed = {
    input: TURNS.responses.input.map((item) =>
      item.type === 'reasoning' ? { ...item, encrypted_content: 'gAAA' } : item,
    ),
  }
  assert.equal(refusalOf({ api: 'responses', provider: 'vllm' }, sealed), undefined)
  assert.doesNotMatch(
    JSON.stringify(sentBy({ api: 'responses', provider: 'vllm' }, sealed)),
    /look/,
  )
})
