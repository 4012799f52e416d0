/** Answers of servers that only resemble OpenAI: clients get what they can read, or a failure. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  asked,
  chunksOf,
  heard,
  joined,
  piece,
  streamed,
} from '../helpers/conversations/one-answer.ts'
import { refusalOf } from '../helpers/providers/sent-by.ts'

const BODIES = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
}
const PROVIDERS = [
  'vllm',
  'sglang',
  'llamacpp',
  'tgi',
  'triton',
  'openai',
  'azure_openai',
  'mistral',
]
const ARGS = '{"id":1234567890123456789,"to":{"x":1.50}}'
const CALL = { index: 0, id: 'D681PevK1' }

/** The text of the arguments as the object itself. */
function opened(json: string): string {
  const text = JSON.stringify('ARGS')
  assert.ok(json.includes(text))
  return json.replace(text, ARGS)
}

for (const [api, body] of Object.entries(BODIES))
  for (const provider of PROVIDERS) {
    const wire = joined(api, provider)

    test(`${api} from ${provider}: arguments that are an object arrive as a text`, () => {
      const request = asked(wire, { model: 'm', ...body })
      const called = { ...CALL, type: 'function', function: { name: 'f', arguments: 'ARGS' } }
      const message = { role: 'assistant', content: null, tool_calls: [called] }
      const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
      const answer = opened(JSON.stringify({ id: 'a', model: 'm', choices }))
      const passed = wire.pair.decode(Buffer.from(answer), request, { model: 'm', id: 'r' })
      assert.ok(passed.kind === 'body')
      const { calls } = wire.client.readWhole(String(passed.body), false)
      assert.deepEqual(
        calls.map(({ name, args }) => ({ name, args })),
        [{ name: 'f', args: ARGS }],
      )
    })

    test(`${api} from ${provider}: arguments that are an object in a stream arrive as a text`, () => {
      const request = asked(wire, { model: 'm', stream: true, ...body })
      const chunks = chunksOf([piece(CALL, { name: 'f', arguments: 'ARGS' })])
      const bytes = Buffer.from(opened(chunks.toString()))
      const { calls } = heard(wire, streamed(wire, request, bytes))
      assert.deepEqual(
        calls.map(({ name, args }) => ({ name, args })),
        [{ name: 'f', args: ARGS }],
      )
    })
  }

for (const [api, body] of Object.entries(BODIES))
  test(`${api}: a stream of OpenRouter that ends with an error is a failure`, () => {
    const wire = joined(api, 'openai')
    const request = asked(wire, { model: 'm', stream: true, ...body })
    const chunks = chunksOf([{ role: 'assistant', content: 'Hel' }], 'error')
    const { isWhole, failure } = streamed(wire, request, chunks)
    assert.deepEqual(
      { isWhole, failure },
      {
        isWhole: false,
        failure: 'The upstream gave up the generation (error).',
      },
    )
  })

for (const provider of ['openai', 'azure_openai', 'llamacpp', 'tgi', 'mistral'])
  test(`chat from ${provider}: each chunk has choices, also the one with the usage`, () => {
    const wire = joined('chat', provider)
    const options = { stream: true, stream_options: { include_usage: true } }
    const request = asked(wire, { model: 'm', ...options, ...BODIES.chat })
    const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 }
    const last = `data: ${JSON.stringify({ id: 'a', model: 'm', usage })}\n\ndata: [DONE]\n\n`
    const words = chunksOf([{ role: 'assistant', content: 'Hel' }], 'stop').toString()
    const bytes = Buffer.from(words.replace('data: [DONE]\n\n', last))
    const { text } = streamed(wire, request, bytes)
    const lines = text.split('\n').filter((line) => line.startsWith('data: {'))
    const chunks = lines.map((line) => JSON.parse(line.slice('data: '.length)))
    assert.ok(
      chunks.every(({ choices }) => Array.isArray(choices)),
      text,
    )
    assert.equal(chunks.at(-1).usage.total_tokens, 3)
  })

test('messages: a request without content is refused before a vendor sees it', () => {
  for (const content of [[], [{ type: 'text', text: '' }]])
    for (const provider of ['openai', 'vllm', 'bedrock'] as const) {
      const messages = [{ role: 'user', content }]
      const way = { api: 'messages', provider } as const
      assert.equal(refusalOf(way, { system: 'Be brief.', messages }), 'messages')
    }
})
